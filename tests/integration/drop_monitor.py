"""What a monitor of dropped packets is told by the tracepoint skb:kfree_skb, of the whole machine. bpf(2) by number."""

import ctypes
import os
import struct

_MAP_CREATE, _MAP_LOOKUP_ELEM, _PROG_LOAD, _RAW_TRACEPOINT_OPEN = 0, 1, 5, 17
_ARRAY_MAP, _RAW_TRACEPOINT_PROGRAM = 2, 17
_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, layout, *values):
    attributes = ctypes.create_string_buffer(struct.pack(layout, *values), 144)
    result = _libc.syscall(321, command, attributes, 144)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf command {command}")
    return result


class DropMonitor:
    """Counts from its beginning on. OSError: this kernel lets no program look."""

    def __init__(self):
        self._map = _bpf(_MAP_CREATE, "=IIII", _ARRAY_MAP, 4, 8, 1)
        self._descriptors = [self._map]
        instructions = [
            (0x62, 0x0A, -4, 0), (0xBF, 0xA2, 0, 0), (0x07, 0x02, 0, -4),  # r2 = address of the key 0
            (0x18, 0x11, 0, self._map), (0, 0, 0, 0), (0x85, 0, 0, 1),     # r0 = the value in the map
            (0x15, 0, 2, 0), (0xB7, 1, 0, 1), (0xDB, 0x10, 0, 0),          # one more, if there is one
            (0xB7, 0, 0, 0), (0x95, 0, 0, 0)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("=BBhi", *its) for its in instructions))
        licence = ctypes.create_string_buffer(b"GPL")
        program = _bpf(_PROG_LOAD, "=IIQQ", _RAW_TRACEPOINT_PROGRAM, len(instructions), ctypes.addressof(code),
                       ctypes.addressof(licence))
        self._descriptors.append(program)
        name = ctypes.create_string_buffer(b"kfree_skb")
        self._descriptors.append(_bpf(_RAW_TRACEPOINT_OPEN, "=QI", ctypes.addressof(name), program))

    def drops(self):
        key, value = ctypes.c_uint32(0), ctypes.c_uint64()
        _bpf(_MAP_LOOKUP_ELEM, "=IIQQ", self._map, 0, ctypes.addressof(key), ctypes.addressof(value))
        return value.value

    def close(self):
        for descriptor in self._descriptors:
            os.close(descriptor)
