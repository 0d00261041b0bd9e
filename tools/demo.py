"""The show of tools/demo, once everything is built."""

import json
import os
import pathlib
import signal
import socket
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "build" / "release" / "bin"
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "integration")]

import demo_page  # noqa: E402
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


ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


class Interrupted(Exception):
    """The demo is to end."""


def pause(seconds=0):
    """Sleeps. The only place at which the demo is interrupted: everywhere else its signals are blocked, also for the
    programs that it runs, so that nothing is left half made or half undone."""
    if signal.sigtimedwait(ENDING, max(seconds, 0)):
        raise Interrupted


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
        """When, and the packets so far of each destination."""
        asked = time.monotonic()
        listing = self._namespace.run("nft", "-j", "list", "set", "inet", "count", "seen").stdout
        at = (asked + time.monotonic()) / 2
        elements = next(its["set"]["elem"] for its in json.loads(listing)["nftables"] if "set" in its)
        return at, {its["elem"]["val"]: its["elem"]["counter"]["packets"] for its in elements}


class Daemon:
    """headgated with a control socket of its own. Started by `with`, and stopped at its end."""

    def __init__(self, command, directory):
        self._control = directory / "control.sock"
        self._log = directory / "headgated.log"
        self._command = [*command, "--control", self._control]

    def __enter__(self):
        with open(self._log, "w") as log:
            # In a process group of its own: it is ended from here alone.
            self._process = processes.start(self._command, stdout=log, stderr=log, process_group=0)
        try:
            self._wait_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_):
        self._stop()

    def _wait_ready(self):
        deadline = time.monotonic() + 10
        while self.control("version").returncode != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"headgated did not start:\n{self._log.read_text().rstrip()}")
            pause(0.05)

    def control(self, *arguments):
        return processes.run([PROGRAMS / "headgatectl", "--control", self._control, *arguments], check=False)

    def check(self):
        if self._process.poll() is not None:
            sys.exit(f"headgated ended:\n{self._log.read_text().rstrip()}")

    def counters(self):
        reply = self.control("-j", "show")
        if reply.returncode != 0:
            self.check()
            sys.exit(reply.stderr.rstrip())
        return json.loads(reply.stdout)["shapes"][0]["classes"][0]

    def dropped(self):
        """When, by the daemon's clock, and the packets dropped so far of each destination."""
        # Straight from the socket: headgatectl flows takes a second to measure rates of its own.
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self._control))
            connection.sendall(b'{"command":"flows","class":"clients"}\n')
            reply = json.loads(connection.makefile().readline())
        return reply["uptime_s"], {flow["key"]["destination"]: flow["dropped"]["packets"] for flow in reply["flows"]}

    def _stop(self):
        processes.end(self._process)


class Rates:
    """Turns a growing count for each destination into a rate since the last reading."""

    def __init__(self, read):
        self._read = read
        self._at, self._count = read()

    def next(self):
        at, count = self._read()
        rates = {address: (count.get(address, 0) - self._count.get(address, 0)) / (at - self._at)
                 for address in ADDRESSES}
        self._at, self._count = at, count
        return rates


def table(title, offered, delivered, dropped):
    lines = [title, f"{'destination':<14}{'offered/s':>11}{'delivered/s':>13}{'dropped/s':>11}"]
    for address in ADDRESSES:
        bar = "#" * round(24 * delivered[address] / LIMIT)
        lines.append(f"{address:<14}{offered[address]:>11.0f}{delivered[address]:>13.0f}{dropped[address]:>11.0f}  {bar}")
    totals = [sum(rates.values()) for rates in (offered, delivered, dropped)]
    lines.append("{:<14}{:>11.0f}{:>13.0f}{:>11.0f}".format("all", *totals))
    return lines


def drive(net, daemon, delivered_counter, rates):
    """Sends the uneven traffic, drawing each second; ends when all of it was sent. What each destination was sent. The
    rates of each second are added to `rates`."""
    offered, delivered = Rates(Counter(net.host, "postrouting").read), Rates(delivered_counter.read)
    dropped = Rates(daemon.dropped)
    screen, senders, started = Screen(), {}, time.monotonic()
    for second in range(1, SECONDS + 1):
        for address, rate, (start, seconds) in zip(ADDRESSES, OFFERED, PHASES):
            if address not in senders and second > start:
                senders[address] = Sender(net.host, PROGRAMS, address, rate=rate, seconds=seconds)
        pause(started + second - time.monotonic())
        rates.append({"offered": offered.next(), "delivered": delivered.next(), "dropped": dropped.next()})
        screen.draw(table(f"second {second} of {SECONDS}", **rates[-1]))
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


def make_page(page, seconds, sent, delivered, counters, arrivals):
    arrivals.end()
    demo_page.write(page, demo_page.figures_of(CONFIG, seconds, counters, sent, delivered, arrivals.gaps()))
    print(f"the page: {page}")


def show_namespaces(directory, page):
    config = directory / "headgate.toml"
    config.write_text(CONFIG)
    net, arrivals, seconds = network.Network(), None, []
    try:
        pause()
        if page:
            arrivals = demo_page.ArrivalTrace(net.peer, "eth0", directory)
        delivered_counter = Counter(net.peer, "prerouting")
        with Daemon(net.host.command(PROGRAMS / "headgated", "--config", config), directory) as daemon:
            print(f"A host with eth0 in one network namespace, its peer in another; headgated gives each destination\n"
                  f"{LIMIT} packets per second with a queue of 100:\n{CONFIG}", flush=True)
            sent = drive(net, daemon, delivered_counter, seconds)
            pause(0.3)  # the queues empty
            delivered, counters = delivered_counter.read()[1], daemon.counters()
            summarize(sent, delivered, counters)
            if page:
                make_page(page, seconds, sent, delivered, counters, arrivals)
    finally:
        if arrivals:
            arrivals.end()
        net.delete()


def show_interface(directory, interface, rate):
    print(f"Shaping what leaves {interface} to {rate} for each destination; Ctrl-C ends it.\n", flush=True)
    try:
        with Daemon([PROGRAMS / "headgated", "--interface", interface, "--rate", rate, "--key", "dst"],
                    directory) as daemon:
            screen = Screen()
            while True:
                daemon.check()
                screen.draw(daemon.control("show").stdout.rstrip().splitlines())
                pause(1)
    except Interrupted:
        print(f"\n{interface} is no longer shaped.")


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    arguments = sys.argv[1:]
    page = pathlib.Path(arguments[1]) if arguments[:1] == ["--html"] else None
    interface = [] if page else arguments
    network.sweep()
    with tempfile.TemporaryDirectory(prefix="headgate-demo-") as directory:
        try:
            if interface:
                show_interface(pathlib.Path(directory), interface[0], interface[1] if len(interface) > 1 else "1000pps")
            else:
                show_namespaces(pathlib.Path(directory), page)
        except Interrupted:
            print("\ninterrupted")
        except BrokenPipeError:  # nobody reads any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
