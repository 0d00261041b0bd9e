"""BPF programs of others on an interface, and what others do to ours. bpf(2) by number: the tools of Debian 12 know no TCX."""

import subprocess

import processes

_BPF = """
import ctypes, socket, struct, sys, time
PROG_LOAD, PROG_QUERY, LINK_CREATE, LINK_GET_FD_BY_ID, LINK_DETACH = 5, 16, 28, 30, 34
HOOKS = {"xdp": (6, 37, 1 << 1), "ingress": (3, 46, 1 << 3), "egress": (3, 47, 1 << 3)}  # program, attach type, flags
libc = ctypes.CDLL(None, use_errno=True)

def bpf(command, layout, *values):
    attributes = ctypes.create_string_buffer(struct.pack(layout, *values), 144)
    result = libc.syscall(321, command, attributes, 144)
    assert result >= 0, f"bpf command {command}: errno {ctypes.get_errno()}"
    return result, attributes.raw

interface, hook = socket.if_nametoindex(sys.argv[1]), sys.argv[2]
kind, attach_type, flags = HOOKS[hook]
"""

# Ahead of all that is there, or behind it. Goes with the process.
_ATTACH = _BPF + """
verdict, name, place, last_byte = int(sys.argv[3]), sys.argv[4].encode(), sys.argv[5], int(sys.argv[6])
give = lambda value: [(0xb7, 0, 0, value), (0x95, 0, 0, 0)]  # r0 = value; exit
instructions = give(verdict)
if last_byte >= 0:  # r6 = r1; r0 = the last byte of the IPv4 destination; the verdict for that one, else the next program
    instructions = [(0xbf, 0x16, 0, 0), (0x30, 0, 0, 33), (0x55, 0, 2, last_byte), *give(verdict), *give(-1)]
code = ctypes.create_string_buffer(b"".join(struct.pack("=BBhi", *instruction) for instruction in instructions))
licence = ctypes.create_string_buffer(b"GPL")
program, _ = bpf(PROG_LOAD, "=IIQQIIQII16s", kind, len(instructions), ctypes.addressof(code), ctypes.addressof(licence),
                 0, 0, 0, 0, 0, name)
link, _ = bpf(LINK_CREATE, "=IIII", program, interface, attach_type, flags if place == "ahead" else 0)
print("attached", flush=True)
time.sleep(600)
"""

# As `bpftool link detach` does it.
_DETACH = _BPF + """
programs, links = (ctypes.c_uint32 * 64)(), (ctypes.c_uint32 * 64)()
_, answer = bpf(PROG_QUERY, "=IIIIQIIQQ", interface, attach_type, 0, 0, ctypes.addressof(programs), 64, 0, 0,
                ctypes.addressof(links))
count = struct.unpack_from("=I", answer, 24)[0]
assert count == 1, count
link, _ = bpf(LINK_GET_FD_BY_ID, "=I", links[0])
bpf(LINK_DETACH, "=I", link)
"""

NEXT, PASS, DROP = -1, 0, 2  # verdicts by TCX
XDP_DROP, XDP_PASS = 1, 2


class ForeignProgram:
    """A program of somebody else's by TCX or XDP, which answers the same for every packet, or only for those `to` an IPv4
    address, and leaves the others to the next."""

    def __init__(self, namespace, interface, hook, verdict, name="monitor", place="ahead", to=None):
        last_byte = -1 if to is None else to.rpartition(".")[2]
        self._process = namespace.start("/usr/bin/python3", "-c", _ATTACH, interface, hook, verdict, name, place, last_byte,
                                        stdout=subprocess.PIPE, text=True)
        assert self._process.stdout.readline() == "attached\n"

    def detach(self):
        processes.end(self._process)


def detach_tcx_link(namespace, interface, hook):
    """Detaches the one program that is there, whose owner keeps a link that leads nowhere."""
    namespace.run("/usr/bin/python3", "-c", _DETACH, interface, hook)
