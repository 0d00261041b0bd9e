"""Hosts that share a budget, a namespace and a headgated each, and the far end where all that they send arrives."""

import bisect
import time

import network
import processes
from traffic import Receiver, Sender

FAR_END = "10.77.0.2"
FRAME = 1250  # bytes: 10 000 bits as a budget counts them
FRAME_BITS = FRAME * 8
FIRST_PORT = 5000  # of what goes by the budget; one more for each host
OWN_PORT = 6000  # of what does not; the same
OWN_RATE = 500  # packets/s

BUDGET = """
[budget.all]
rate = "{rate}mbit"
floor = "{floor}mbit"
hosts = {hosts}
redis = "unix:{socket}"
lease = "{lease}s"
{more}
"""
BY_CLASS = f"""
[[shape]]
interface = "eth0"
workers = 1
  [[shape.class]]
  name = "own"
  match = "udp dst portrange {OWN_PORT}-{OWN_PORT + 99}"
  rate = "{OWN_RATE}pps"
  queue = "100p"

  [[shape.class]]
  name = "shared"
  match = "udp dst portrange {FIRST_PORT}-{FIRST_PORT + 99}"
  budget = "all"
  queue = "50ms"
"""
BY_LINK = """
[[shape]]
interface = "eth0"
workers = 1
budget = "all"
  [[shape.class]]
  name = "shared"
  match = "udp"
  queue = "100p"
"""


class Wire:
    """Joins namespaces to a bridge in the far end, where one clock sees all that they send."""

    def __init__(self):
        self.far_end = network.Namespace("far")
        self.namespaces = [self.far_end]
        self.far_end.run("ip", "link", "add", "br0", "type", "bridge")
        network.configure(self.far_end.run, [f"{FAR_END}/24"], [], "br0")
        self._address = self.far_end.links()["br0"]["address"]
        self.far_end.run("ip", "link", "set", "br0", "address", self._address)  # it keeps it whatever joins

    def add(self, number):
        host = network.Namespace(f"host{number}")
        self.namespaces.append(host)
        port = f"host{number}"
        processes.run(["ip", "link", "add", "eth0", "netns", host.name, "type", "veth", "peer", "name", port,
                       "netns", self.far_end.name])
        self.far_end.run("ip", "link", "set", port, "master", "br0", "up")
        network.configure(host.run, [f"10.77.0.{100 + number}/24"], [])
        host.run("ip", "neighbor", "replace", FAR_END, "lladdr", self._address, "nud", "permanent", "dev", "eth0")
        return host

    def delete(self):
        for namespace in self.namespaces:
            namespace.delete()


class Host:
    """One of them. Every other one lets its whole link go by the budget, and not a class."""

    def __init__(self, number, namespace, headgate):
        self.number, self.namespace, self.headgate = number, namespace, headgate

    def config(self, budget):
        return budget + (BY_LINK if self.number % 2 else BY_CLASS)

    def budget(self):
        shown, = self.headgate.show()["budgets"]
        return shown

    def wait_for(self, what, holds, patience=10):
        """Until it holds for what `show` says of the budget, which is returned."""
        deadline = time.monotonic() + patience
        while not holds(budget := self.budget()):
            assert time.monotonic() < deadline, f"host {self.number}: not {what} within {patience} s: {budget}"
            time.sleep(0.05)
        return budget


class SharingHosts:
    """`rate` of the budget in Mbit/s, of which a hundredth is the floor of a host."""

    lease = 2  # s

    def __init__(self, wire, headgates, redis, programs, number, rate):
        self.rate, self.floor, self.most = rate, rate / 100, number
        self._wire, self._headgates, self._redis, self._programs = wire, headgates, redis, programs
        self._senders = {}
        self.hosts = []
        for _ in range(number):
            self.add()

    def __iter__(self):
        return iter(self.hosts)

    def __getitem__(self, number):
        return self.hosts[number]

    def add(self):
        number = len(self.hosts)
        namespace = self._wire.add(number)
        self.hosts.append(Host(number, namespace, self._headgates(namespace)))
        return self.hosts[-1]

    def budget_config(self, socket=None, more="", rate=None):
        return BUDGET.format(rate=rate or self.rate, floor=self.floor, hosts=self.most, lease=self.lease, more=more,
                             socket=socket or self._redis.socket)

    def start(self, **budget):
        for host in self.hosts:
            host.headgate.start(host.config(self.budget_config(**budget)), wait=False)
        for host in self.hosts:
            host.headgate.wait_ready()
        return self

    def wait_until_granted(self):
        """Redis grants nothing for a lease after its start."""
        for host in self.hosts:
            host.wait_for("granted", lambda budget: budget["told"] and budget["told"]["bound"] != "learning")
        return self

    def record(self):
        return Receiver(self._wire.far_end, self._programs, interface="br0")

    def offer(self, rate, seconds, only=None):
        """So many Mbit/s of each host, or of one."""
        for host in self.hosts if only is None else [self.hosts[only]]:
            self._send(host, rate * 1e6 / FRAME_BITS, seconds, port=FIRST_PORT + host.number, size=FRAME)

    def offer_own(self, host, rate, seconds):
        """Packets a second that have a rate of their own."""
        self._send(host, rate, seconds, port=OWN_PORT + host.number)

    def _send(self, host, rate, seconds, **options):
        sender = Sender(host.namespace, self._programs, FAR_END, rate=rate, seconds=seconds, **options)
        self._senders.setdefault(host, []).append(sender)

    def stop_offering(self, *hosts):
        """These, or all; what they sent, by host."""
        return {host: [sender.stop() for sender in self._senders.pop(host)]
                for host in hosts or list(self._senders)}


def shared(arrivals):
    """(time in ns, host) of all that goes by the budget, by time."""
    return sorted((arrival.time, port - FIRST_PORT) for (_, port), flow in arrivals.flows.items() if port < OWN_PORT
                  for arrival in flow)


def megabits(frames, start, end, host=None):
    """The rate from one time to another, in s."""
    count = sum(start <= time_of / 1e9 < end and host in (None, its) for time_of, its in frames)
    return count * FRAME_BITS / (end - start) / 1e6


def most_above(frames, rate, window, catch_up=0.0):
    """The most bits, in Mbit, by which any stretch of `window` seconds has more than `rate` Mbit/s give.

    As much as `rate` gives in `catch_up` seconds does not count, where it was missing in three times that before.
    """
    times = [time_of / 1e9 for time_of, _ in frames]
    each = FRAME_BITS / 1e6

    def above(first, start):
        came = (bisect.bisect_left(times, start + window) - first) * each
        before = 3 * catch_up
        missing = rate * before - (first - bisect.bisect_left(times, start - before)) * each
        return came - rate * window - min(max(0.0, missing), rate * catch_up)

    return max(above(first, start) for first, start in enumerate(times))


def fair_shares(wants, capacity):
    """Max-min fairness."""
    shares, left = [0.0] * len(wants), capacity
    for rank, number in enumerate(sorted(range(len(wants)), key=wants.__getitem__)):
        shares[number] = min(wants[number], left / (len(wants) - rank))
        left -= shares[number]
    return shares
