"""What a headgated leaves behind in the kernel, or must not."""

import json
import time

# bpf(BPF_PROG_QUERY), run in the namespace because an interface index means nothing elsewhere.
_QUERY_TCX = """
import ctypes, socket, struct, sys
BPF_PROG_QUERY, TCX_INGRESS, TCX_EGRESS = 16, 46, 47
count = 0
for hook in (TCX_INGRESS, TCX_EGRESS):
    identifiers = (ctypes.c_uint32 * 64)()
    attributes = bytearray(64)
    struct.pack_into("=IIIIQI", attributes, 0, socket.if_nametoindex(sys.argv[1]), hook, 0, 0,
                     ctypes.addressof(identifiers), 64)
    buffer = (ctypes.c_char * 64).from_buffer(attributes)
    if ctypes.CDLL(None, use_errno=True).syscall(321, BPF_PROG_QUERY, buffer, 64) == 0:
        count += struct.unpack_from("=I", attributes, 24)[0]
print(count)
"""


def tcx_programs(namespace, interface="eth0"):
    """How many programs hang on an interface by TCX; 0 where the kernel does not know it."""
    return int(namespace.run("/usr/bin/python3", "-c", _QUERY_TCX, interface).stdout)


def clsact_filters(namespace, interface="eth0"):
    found = []
    for hook in ("ingress", "egress"):
        shown = namespace.run("tc", "-j", "filter", "show", "dev", interface, hook, check=False).stdout
        found += [its for its in json.loads(shown or "[]") if "options" in its]
    return found


def has_clsact(namespace, interface="eth0"):
    return "clsact" in namespace.run("tc", "qdisc", "show", "dev", interface).stdout


def divert_devices(namespace):
    return [name for name in namespace.links() if name.startswith("hg")]


def packet_sockets(namespace):
    return namespace.run("cat", "/proc/net/packet").stdout.splitlines()[1:]


def of_headgate(namespace, interface="eth0"):
    """All traces in a namespace, by kind; empty when nothing is left."""
    traces = {"divert devices": divert_devices(namespace), "TCX programs": tcx_programs(namespace, interface),
              "filters": clsact_filters(namespace, interface), "clsact": has_clsact(namespace, interface),
              "packet sockets": packet_sockets(namespace)}
    return {kind: trace for kind, trace in traces.items() if trace}


def assert_none(namespace, interface="eth0", patience=2):
    # The kernel frees the packet sockets of a killed process a moment after it is gone.
    deadline = time.monotonic() + patience
    while left := of_headgate(namespace, interface):
        assert time.monotonic() < deadline, f"left over: {left}"
        time.sleep(0.02)
