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

# Ahead of all that is there. Goes with the process.
_ATTACH = _BPF + """
verdict, name = int(sys.argv[3]), sys.argv[4].encode()
code = ctypes.create_string_buffer(struct.pack("=BBhiBBhi", 0xb7, 0, 0, verdict, 0x95, 0, 0, 0))  # return verdict
licence = ctypes.create_string_buffer(b"GPL")
program, _ = bpf(PROG_LOAD, "=IIQQIIQII16s", kind, 2, ctypes.addressof(code), ctypes.addressof(licence), 0, 0, 0, 0, 0, name)
link, _ = bpf(LINK_CREATE, "=IIII", program, interface, attach_type, flags)
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
    """A program of somebody else's by TCX or XDP, which answers the same for every packet."""

    def __init__(self, namespace, interface, hook, verdict, name="monitor"):
        self._process = namespace.start("/usr/bin/python3", "-c", _ATTACH, interface, hook, verdict, name,
                                        stdout=subprocess.PIPE, text=True)
        assert self._process.stdout.readline() == "attached\n"

    def detach(self):
        processes.end(self._process)


def detach_tcx_link(namespace, interface, hook):
    """Detaches the one program that is there, whose owner keeps a link that leads nowhere."""
    namespace.run("/usr/bin/python3", "-c", _DETACH, interface, hook)
