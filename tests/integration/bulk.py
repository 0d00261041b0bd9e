"""One TCP connection that carries bytes known to both ends.

usage: bulk.py send|receive ADDRESS PORT. The receiver says "same", or what it got instead.
"""

import random
import socket
import sys

_BYTES = random.Random(1).randbytes(600_000)


def main():
    what, address, port = sys.argv[1:]
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if what == "send":
        with socket.socket(family) as connection:
            connection.settimeout(60)
            connection.connect((address, int(port)))
            connection.sendall(_BYTES)
        return
    with socket.create_server((address, int(port)), family=family) as listener:
        listener.settimeout(60)
        connection, _ = listener.accept()
        connection.settimeout(60)
        found = b""
        while piece := connection.recv(1 << 16):
            found += piece
    print("same" if found == _BYTES else f"{len(found)}-bytes", end="")


main()
