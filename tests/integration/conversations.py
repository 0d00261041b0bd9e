"""Everything that two hosts say to each other, all at once and both ways, with every byte looked at where it arrives."""

import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter

import network
import processes
from frames import IEEE_802_1AD, IEEE_802_1Q, IPV4_ADDRESSES, IPV6_ADDRESSES, numbered, udp_frame
from packet_socket import FrameRecorder, FrameSender
from transfer import Transfer

_TAGS = ([], [(IEEE_802_1Q, 0x2005)], [(IEEE_802_1AD, 7), (IEEE_802_1Q, 5)])


class Conversations:
    """TCP, ICMP and UDP of both families, UDP tagged and not, in both directions, until finish()."""

    def __init__(self, host, peer, bytes_per_second=250_000):
        self._stopped = threading.Event()
        self.transfers = [
            Transfer(source, destination, to, port=port, pace=bytes_per_second)
            for port, (source, destination, to) in enumerate(
                [(host, peer, network.PEER_IPV4), (host, peer, network.PEER_IPV6),
                 (peer, host, network.HOST_IPV4), (peer, host, network.HOST_IPV6)], 5300)]
        self._pings = [_Ping(source, to) for source, to in (
            (host, network.PEER_IPV4), (host, network.PEER_IPV6), (peer, network.HOST_IPV4), (peer, network.HOST_IPV6))]
        self._datagrams = [_Datagrams(source, destination, self._stopped)
                           for source, destination in ((host, peer), (peer, host))]

    def running(self):
        return all(transfer.running() for transfer in self.transfers)

    def finish(self, copies=(1, 1)):
        """Waits for TCP and compares. `copies`: how often a packet socket may see a frame, at the peer and at the host."""
        for transfer in self.transfers:
            transfer.finish()
        self._stopped.set()
        for datagrams, most in zip(self._datagrams, copies):
            datagrams.compare(most)
        for ping in self._pings:
            ping.compare()


class _Datagrams:
    """Frames from one end to the other, 300 a second."""

    def __init__(self, source, destination, stopped):
        self._source, self._stopped, self._sent, self._refused = source, stopped, [], 0
        self._recorder = FrameRecorder(destination)
        self._thread = threading.Thread(target=self._send, daemon=True)  # a failed test must not wait for it
        self._thread.start()

    def _send(self):
        sender, number = FrameSender(self._source), 0
        while not self._stopped.is_set():
            frame = udp_frame(numbered(number, 32 + number % 1000), (4000, 5000 + number % 7),
                              (IPV4_ADDRESSES, IPV6_ADDRESSES)[number % 2], tags=_TAGS[number % 3])
            number += 1
            self._sent.append(frame)
            try:
                sender.send(frame)
            except OSError:  # while the interface is down
                self._refused += 1
            time.sleep(1 / 300)
        sender.close()

    def compare(self, copies):
        self._thread.join()
        came = Counter(self._recorder.frames(1 << 30, patience=0.5))
        self._recorder.close()
        added = set(came) - set(self._sent)
        assert not added, f"{len(added)} frames were changed, such as {next(iter(added)).hex()[:400]}"
        assert max(came.values()) <= copies, "a frame came too often"
        assert len(came) > 0.3 * (len(self._sent) - self._refused), f"{len(came)} of {len(self._sent)} frames came"


class _Ping:
    """ping compares what comes back with what it sent."""

    def __init__(self, namespace, to):
        self._output = tempfile.TemporaryFile("w+")
        self._process = namespace.start("ping", "-n", "-q", "-i", 0.02, "-s", 400, to, stdout=self._output,
                                        stderr=subprocess.STDOUT)

    def compare(self):
        processes.end(self._process, signal.SIGINT)
        self._output.seek(0)
        text = self._output.read()
        assert "wrong data" not in text and "duplicates" not in text, text
        assert " 0 received" not in text, text
