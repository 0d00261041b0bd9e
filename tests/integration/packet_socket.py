"""Whole frames sent on an interface and recorded from it, byte for byte."""

import ctypes
import errno
import os
import socket
import struct
import time
from collections import Counter
from contextlib import contextmanager

import frames

_SOL_PACKET, _PACKET_STATISTICS, _PACKET_AUXDATA, _PACKET_IGNORE_OUTGOING = 263, 6, 8, 23
_VLAN_VALID, _VLAN_TPID_VALID = 1 << 4, 1 << 6
_SO_RCVBUFFORCE = 33
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def inside(namespace):
    """Sockets made meanwhile by this thread belong to the namespace, and stay with it."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace.name}", os.O_RDONLY)
    try:
        _enter(there)
        yield
    finally:
        _enter(here)
        os.close(here)
        os.close(there)


def _enter(descriptor):
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class FrameSender:
    def __init__(self, namespace, interface="eth0"):
        with inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.bind((interface, 0))
        self._socket.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE

    def send(self, frame):
        self._socket.send(frame)

    def send_all(self, all_frames, rate=None):
        """One after the other, `rate` of them a second if given."""
        start = time.monotonic()
        for number, frame in enumerate(all_frames):
            if rate:
                time.sleep(max(0.0, start + number / rate - time.monotonic()))
            self.send(frame)

    def close(self):
        self._socket.close()


class FrameRecorder:
    """Keeps the frames that come in at an interface, from now on and in the kernel's memory until they are asked for.

    Only those that frames.py built, as told by their source. VLAN tags are where they are on the wire.
    """

    def __init__(self, namespace, interface="eth0"):
        with inside(namespace):
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 256 << 20)
            self._socket.setsockopt(_SOL_PACKET, _PACKET_AUXDATA, 1)
            self._socket.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
            self._socket.bind((interface, 3))  # ETH_P_ALL

    def frames(self, count, patience=5, settle=0.1):
        """Those that came, once they are `count` and `settle` seconds have passed in which more may come."""
        found = []
        deadline = time.monotonic() + patience
        while len(found) < count and time.monotonic() < deadline:
            found += self._take(deadline - time.monotonic())
        end = time.monotonic() + settle
        while (left := end - time.monotonic()) > 0:
            found += self._take(left)
        _, dropped = struct.unpack("II", self._socket.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
        assert dropped == 0, "the recording itself lost frames"
        return found

    def _take(self, patience):
        self._socket.settimeout(max(patience, 0.001))
        try:
            data, ancillary, flags, _ = self._socket.recvmsg(1 << 17, 256)
        except TimeoutError:
            return []
        except OSError as problem:
            if problem.errno == errno.ENETDOWN:  # told once; the recording goes on when the interface is up again
                return []
            raise
        assert not flags & socket.MSG_TRUNC
        if data[6:12] != frames.TEST_MAC:
            return []
        return [_with_tag(data, ancillary)]

    def close(self):
        self._socket.close()


def _with_tag(data, ancillary):
    for level, kind, content in ancillary:
        if (level, kind) == (_SOL_PACKET, _PACKET_AUXDATA):
            status, _, _, _, _, tag, protocol = struct.unpack("IIIHHHH", content)
            if status & _VLAN_VALID:
                assert status & _VLAN_TPID_VALID
                return data[:12] + struct.pack("!HH", protocol, tag) + data[12:]
    return data


def assert_same_frames(sent, came):
    """The same frames, in any order; says which are missing, added or changed."""
    missing = list((Counter(sent) - Counter(came)).elements())
    added = list((Counter(came) - Counter(sent)).elements())
    assert not missing and not added, (f"{len(missing)} of {len(sent)} frames missing, {len(added)} added or changed:\n"
                                       + "\n".join([f"- {frame.hex()[:400]}" for frame in missing[:5]]
                                                   + [f"+ {frame.hex()[:400]}" for frame in added[:5]]))
