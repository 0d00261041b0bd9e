"""What a daemon is as a process: idle without traffic, punctual with it."""

import time

import pytest

import processes

CONFIG = """
[[shape]]
interface = "eth0"
  [[shape.class]]
  name = "all"
  key  = "dst"
  rate = "1000pps"
"""


@pytest.mark.measured
@pytest.mark.parametrize("watchdog", [None, 2])
def test_without_traffic_nothing_wakes_up_but_the_watchdog(net, headgate, divert, watchdog):
    # Multicast listener reports of the kernel are traffic too: keep the wire quiet.
    for namespace in (net.host, net.peer):
        namespace.run("ip", "-6", "address", "flush", "dev", "eth0")
    headgate.start(CONFIG, divert=divert, watchdog=watchdog)
    time.sleep(2)
    before = processes.voluntary_switches(headgate.process.pid)
    time.sleep(5)
    woken = {thread: count - before[thread]
             for thread, count in processes.voluntary_switches(headgate.process.pid).items()}
    main = woken.pop(f"headgated-{headgate.process.pid}")
    assert main <= 6  # once a second
    assert woken and not any(woken.values()), woken


@pytest.mark.release  # sanitizers make mlockall() do nothing
def test_as_root_it_has_a_real_time_thread_and_locked_memory(net, headgate):
    headgate.start(CONFIG)
    assert processes.has_real_time_thread(headgate.process.pid)
    assert processes.locked_kilobytes(headgate.process.pid) > 1024
    assert "Limit" not in headgate.log()
