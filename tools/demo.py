"""The show of tools/demo, once everything is built."""

import json
import pathlib
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "build" / "release" / "bin"
sys.path.insert(0, str(ROOT / "tests" / "integration"))

import network  # noqa: E402
import processes  # noqa: E402
from traffic import Sender  # noqa: E402

LIMIT = 1000  # packets per second and destination
SECONDS = 20
ADDRESSES = network.PEER_MORE_IPV4[:6]
# What each destination is offered, in packets per second: the last two start later and stop earlier.
OFFERED = [200, 800, 1000, 2500, 6000, 12_000]
PHASES = [(0, SECONDS)] * 4 + [(5, 10), (8, 5)]

CONFIG = f"""
[[shape]]
interface = "eth0"
  [[shape.class]]
  name  = "clients"
  match = "udp"
  key   = "dst"
  rate  = "{LIMIT}pps"
  queue = "100p"
"""


class Screen:
    """Draws a block of lines over the last one on a terminal; prints one below the other elsewhere."""

    def __init__(self):
        self._height = 0
        self._terminal = sys.stdout.isatty()

    def draw(self, lines):
        if self._terminal and self._height:
            print(f"\033[{self._height}A", end="")
        for line in lines:
            print(line + ("\033[K" if self._terminal else ""))
        if not self._terminal:
            print()
        self._height = len(lines)
        sys.stdout.flush()


class Counter:
    """Counts UDP packets by destination with the namespace's own nftables, at a hook."""

    def __init__(self, namespace, hook):
        self._namespace = namespace
        elements = ", ".join(ADDRESSES)
        namespace.run("nft", f"""table inet count {{
            set seen {{ type ipv4_addr; counter; elements = {{ {elements} }}; }}
            chain count {{ type filter hook {hook} priority 0; meta l4proto udp ip daddr @seen; }}
        }}""")

    def read(self):
        table = json.loads(self._namespace.run("nft", "-j", "list", "set", "inet", "count", "seen").stdout)
        elements = next(its["set"]["elem"] for its in table["nftables"] if "set" in its)
        return {its["elem"]["val"]: its["elem"]["counter"]["packets"] for its in elements}


class Daemon:
    """headgated with a control socket of its own, ended with the demo."""

    def __init__(self, command, directory):
        self._control = directory / "control.sock"
        self._log = directory / "headgated.log"
        with open(self._log, "w") as log:
            self._process = processes.start([*command, "--control", self._control], stdout=log, stderr=log)
        deadline = time.monotonic() + 10
        while self.control("version").returncode != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"headgated did not start:\n{self._log.read_text().rstrip()}")
            time.sleep(0.05)

    def control(self, *arguments):
        return processes.run([PROGRAMS / "headgatectl", "--control", self._control, *arguments], check=False)

    def check(self):
        if self._process.poll() is not None:
            sys.exit(f"headgated ended:\n{self._log.read_text().rstrip()}")

    def counters(self):
        return json.loads(self.control("-j", "show").stdout)["shapes"][0]["classes"][0]

    def stop(self):
        processes.end(self._process)


def table(title, seconds, offered, delivered, bars=True):
    """Rows for each destination: packets per second offered, delivered, dropped."""
    lines = [title, f"{'destination':<14}{'offered/s':>11}{'delivered/s':>13}{'dropped/s':>11}"]
    totals = [0, 0]
    for address in ADDRESSES:
        rates = [offered[address] / seconds, delivered[address] / seconds]
        totals = [total + rate for total, rate in zip(totals, rates)]
        bar = "#" * round(24 * rates[1] / LIMIT) if bars else ""
        lines.append(f"{address:<14}{rates[0]:>11.0f}{rates[1]:>13.0f}{max(rates[0] - rates[1], 0):>11.0f}  {bar}")
    lines.append(f"{'all':<14}{totals[0]:>11.0f}{totals[1]:>13.0f}{max(totals[0] - totals[1], 0):>11.0f}")
    return lines


def difference(after, before):
    return {address: after[address] - before[address] for address in after}


def drive(net, offered_counter, delivered_counter):
    """Sends the uneven traffic, drawing each second; ends when all of it was sent."""
    screen, senders, started = Screen(), {}, time.monotonic()
    offered, delivered, read_at = offered_counter.read(), delivered_counter.read(), started
    for second in range(1, SECONDS + 1):
        for address, rate, (start, seconds) in zip(ADDRESSES, OFFERED, PHASES):
            if address not in senders and second > start:
                senders[address] = Sender(net.host, PROGRAMS, address, rate=rate, seconds=seconds)
        time.sleep(max(started + second - time.monotonic(), 0))
        now, new_offered, new_delivered = time.monotonic(), offered_counter.read(), delivered_counter.read()
        screen.draw(table(f"second {second} of {SECONDS}", now - read_at, difference(new_offered, offered),
                          difference(new_delivered, delivered)))
        offered, delivered, read_at = new_offered, new_delivered, now
    return {address: sender.finish()["sent"] for address, sender in senders.items()}


def summarize(sent, delivered, counters):
    print("\nIn all, counted by the sender, by the far end's kernel, and by headgate:")
    print(f"{'destination':<14}{'sent':>10}{'delivered':>11}{'dropped':>10}")
    for address in ADDRESSES:
        print(f"{address:<14}{sent[address]:>10}{delivered[address]:>11}{sent[address] - delivered[address]:>10}")
    received, passed = counters["received"]["packets"], counters["sent"]["packets"]
    dropped, queued = counters["dropped"]["packets"], counters["queued"]["packets"]
    print(f"{'all':<14}{sum(sent.values()):>10}{sum(delivered.values()):>11}"
          f"{sum(sent.values()) - sum(delivered.values()):>10}")
    print(f"headgate: received {received} = sent {passed} + dropped {dropped} + queued {queued}")
    delay = counters["delay_us"]
    print(f"delay it added: p50 {delay['p50'] / 1000:.1f} ms, p99 {delay['p99'] / 1000:.1f} ms "
          f"(a full queue of 100 packets is {100_000 / LIMIT:.0f} ms)")


def show_namespaces(directory):
    config = directory / "headgate.toml"
    config.write_text(CONFIG)
    net = network.Network()
    try:
        offered_counter, delivered_counter = Counter(net.host, "postrouting"), Counter(net.peer, "prerouting")
        daemon = Daemon(net.host.command(PROGRAMS / "headgated", "--config", config), directory)
        try:
            print(f"A host with eth0 in one network namespace, its peer in another; headgated gives each destination\n"
                  f"{LIMIT} packets per second with a queue of 100:\n{CONFIG}")
            sent = drive(net, offered_counter, delivered_counter)
            time.sleep(0.3)  # the queues empty
            summarize(sent, delivered_counter.read(), daemon.counters())
        finally:
            daemon.stop()
    finally:
        net.delete()


def show_interface(directory, interface, rate):
    daemon = Daemon([PROGRAMS / "headgated", "--interface", interface, "--rate", rate, "--key", "dst"], directory)
    screen = Screen()
    print(f"Shaping what leaves {interface} to {rate} for each destination; Ctrl-C ends it.\n")
    try:
        while True:
            daemon.check()
            screen.draw(daemon.control("show").stdout.rstrip().splitlines())
            time.sleep(1)
    except KeyboardInterrupt:
        pass
    finally:
        daemon.stop()
    print(f"\n{interface} is no longer shaped.")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    network.sweep()
    with tempfile.TemporaryDirectory(prefix="headgate-demo-") as directory:
        try:
            if len(sys.argv) > 1:
                show_interface(pathlib.Path(directory), sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "1000pps")
            else:
                show_namespaces(pathlib.Path(directory))
        except KeyboardInterrupt:
            print("\ninterrupted")


if __name__ == "__main__":
    main()
