"""What the kernel tells of links, the moment it does, and a way to delete one as fast."""

import socket
import struct
import time

from packet_socket import inside

_RTMGRP_LINK = 1
_RTM_NEWLINK, _RTM_DELLINK = 16, 17
_NLM_F_REQUEST, _NLM_F_ACK = 1, 4


class LinkEvents:
    """Counts the changes of a namespace's links from now on."""

    def __init__(self, namespace):
        with inside(namespace):
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            self._requests = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, _RTMGRP_LINK))

    def wait(self, count, patience=3):
        """Until so many links were added or changed; whether they were."""
        deadline = time.monotonic() + patience
        while count > 0 and (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                count -= _new_links(self._socket.recv(1 << 16))
            except TimeoutError:
                break
        return count <= 0

    def delete_link(self, index):
        body = struct.pack("=BBHiII", socket.AF_UNSPEC, 0, 0, index, 0, 0)
        self._requests.send(struct.pack("=IHHII", 16 + len(body), _RTM_DELLINK, _NLM_F_REQUEST | _NLM_F_ACK, 1, 0) + body)
        error, = struct.unpack_from("=i", self._requests.recv(4096), 16)
        assert error == 0, f"link {index} was not deleted: {error}"

    def close(self):
        self._socket.close()
        self._requests.close()


def _new_links(messages):
    count, at = 0, 0
    while at + 16 <= len(messages):
        length, kind = struct.unpack_from("=IH", messages, at)
        count += kind == _RTM_NEWLINK
        at += (length + 3) // 4 * 4
    return count
