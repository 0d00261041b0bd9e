// What loading of BPF programs by libbpf needs: its complaints, kept instead of printed.
#pragma once

namespace headgate {

// From here on libbpf's warnings are kept, and earlier ones of this thread forgotten.
void keep_bpf_complaints();

// Throws std::system_error with what the kernel or libbpf had to say.
[[noreturn]] void fail_to_load(int error);

}  // namespace headgate
