"""A daemon with nothing to do does nothing."""

import time

import processes

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  key  = "dst"
  rate = "1000pps"
"""


def test_without_traffic_nothing_wakes_up(net, headgate, divert):
    # Multicast listener reports of the kernel are traffic too: keep the wire quiet.
    for namespace in (net.host, net.peer):
        namespace.run("ip", "-6", "address", "flush", "dev", "eth0")
    headgate.start(CONFIG, divert=divert)
    time.sleep(2)
    before = processes.voluntary_switches(headgate.process.pid)
    time.sleep(5)
    after = processes.voluntary_switches(headgate.process.pid)
    assert after == before


def test_the_watchdog_is_all_that_wakes_an_idle_daemon(net, headgate):
    for namespace in (net.host, net.peer):
        namespace.run("ip", "-6", "address", "flush", "dev", "eth0")
    headgate.start(CONFIG, watchdog=2)
    time.sleep(2)
    before = processes.voluntary_switches(headgate.process.pid)
    time.sleep(5)
    after = processes.voluntary_switches(headgate.process.pid)
    # Fed each second; every thread may be asked for its progress each time.
    for thread, count in after.items():
        assert count - before[thread] <= 2 * 6, f"{thread} woke {count - before[thread]} times"
