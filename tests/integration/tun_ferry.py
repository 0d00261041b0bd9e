"""Carries packets between two tun devices, one in each of two network namespaces: a wire without Ethernet header.

usage: tun_ferry.py NAMESPACE NAMESPACE INTERFACE [--hardware-type N] [--offload]
"""

import argparse
import ctypes
import fcntl
import os
import select
import struct

_TUNSETIFF, _TUNSETLINK, _TUNSETOFFLOAD, _TUNSETVNETHDRSZ = 0x400454CA, 0x400454CD, 0x400454D0, 0x400454D8
_IFF_TUN, _IFF_NO_PI, _IFF_VNET_HDR = 0x1, 0x1000, 0x4000
_CHECKSUM, _TSO4, _TSO6, _TSO_ECN = 1, 2, 4, 8
_CLONE_NEWNET = 0x40000000
_PACKETS_AT_ONCE = 64


def open_tun(namespace, interface, hardware_type, offload):
    with open(f"/run/netns/{namespace}") as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    flags = _IFF_TUN | _IFF_NO_PI | (_IFF_VNET_HDR if offload else 0)
    fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", interface.encode(), flags))
    if offload:
        fcntl.ioctl(tun, _TUNSETVNETHDRSZ, struct.pack("i", 10))
        fcntl.ioctl(tun, _TUNSETOFFLOAD, _CHECKSUM | _TSO4 | _TSO6 | _TSO_ECN)
    if hardware_type is not None:
        fcntl.ioctl(tun, _TUNSETLINK, hardware_type)
    return tun


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("namespaces", nargs=2)
    parser.add_argument("interface")
    parser.add_argument("--hardware-type", type=int)
    parser.add_argument("--offload", action="store_true", help="checksums and TCP super-packets pass as they are")
    options = parser.parse_args()
    one, other = (open_tun(namespace, options.interface, options.hardware_type, options.offload)
                  for namespace in options.namespaces)
    print("ready", flush=True)
    poll = select.epoll()
    for tun in (one, other):
        poll.register(tun, select.EPOLLIN)
    ends = {one: other, other: one}
    while True:
        for tun, _ in poll.poll():
            try:
                for _ in range(_PACKETS_AT_ONCE):
                    os.write(ends[tun], os.read(tun, 1 << 17))
            except BlockingIOError:
                pass
            except OSError:  # down at the far end
                pass


main()
