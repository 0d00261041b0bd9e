#include "linux/bpf_support.hpp"

#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <system_error>

namespace headgate {

namespace {

// libbpf's last complaint on this thread: it tells more than errno does.
thread_local std::string g_complaint;

int keep_complaint(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  g_complaint = text;
  while (!g_complaint.empty() && g_complaint.back() == '\n') g_complaint.pop_back();
  return 0;
}

}  // namespace

void keep_bpf_complaints() {
  libbpf_set_print(keep_complaint);
  g_complaint.clear();
}

void fail_to_load(int error) {
  std::string attempt = "load the BPF programs";
  if (!g_complaint.empty()) attempt += " (" + g_complaint + ")";
  if (error == EPERM) attempt += "; CAP_BPF and CAP_NET_ADMIN must hold in the host's user namespace";
  throw std::system_error(error, std::system_category(), attempt);
}

}  // namespace headgate
