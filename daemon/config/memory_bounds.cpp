#include "config/memory_bounds.hpp"

#include <algorithm>
#include <string>

#include "config/quantity_text.hpp"
#include "config/table_reader.hpp"
#include "core/flow_table.hpp"

namespace headgate {
namespace {

constexpr std::uint64_t kMebibyte = 1ULL << 20;

std::string in_mebibytes(std::uint64_t bytes) {
  return quoted(to_text(DataSize{(bytes + kMebibyte - 1) / kMebibyte * kMebibyte}));
}

std::string whole_mebibytes(std::uint64_t bytes) {
  return quoted(to_text(DataSize{bytes / kMebibyte * kMebibyte}));
}

// What the shapes may use in all: of each bound, and whether the file says it.
struct Bounds {
  std::uint64_t shapes = 0;
  std::uint64_t memory = 0;  // bytes of all shapes
  std::uint64_t flows = 0;
  bool memory_given = false;
  bool flows_given = false;

  std::uint64_t all() const { return memory + flows; }
  std::uint64_t given() const { return (memory_given ? memory : 0) + (flows_given ? flows : 0); }
};

// "memory of "64gb" and 8 MiB for 65536 flows are ... "
std::string describe(const Bounds& bounds, const Config& config, const AvailableMemory& available) {
  const std::string each = quoted(to_text(config.daemon.memory)) + " for packets and " +
                           in_mebibytes(bounds.flows / bounds.shapes) + " for " +
                           std::to_string(config.daemon.max_flows) + " flows";
  const std::string sum = bounds.shapes == 1
                              ? "a shape may use " + each + ", " + in_mebibytes(bounds.all()) + " in all"
                              : std::to_string(bounds.shapes) + " shapes may use " + each + " each, " +
                                    in_mebibytes(bounds.all()) + " in all";
  return sum + ", but there are " + whole_mebibytes(available.size.bytes) + " (" + available.source + ")";
}

std::string fewer_shapes(const Bounds& bounds) {
  return bounds.shapes == 1 ? "" : ", or fewer shapes";
}

// The largest value of the one key that would do while the other stays; where none would, a smaller other one is asked for,
// too.
std::string fix_memory(const Bounds& bounds, const Config& config, std::uint64_t available) {
  const std::uint64_t left = available > bounds.flows ? (available - bounds.flows) / bounds.shapes : 0;
  if (left >= kMebibyte) return ", expected at most " + whole_mebibytes(left) + fewer_shapes(bounds);
  return ", expected less, and a max_flows below " + std::to_string(config.daemon.max_flows) +
         fewer_shapes(bounds);
}

std::string fix_flows(const Bounds& bounds, const Config& config, std::uint64_t available) {
  const std::uint64_t left =
      available > bounds.memory ? (available - bounds.memory) / bounds.shapes / kBytesPerFlow : 0;
  if (left >= 1) return ", expected at most " + std::to_string(left) + fewer_shapes(bounds);
  return ", expected less, and a memory below " + quoted(to_text(config.daemon.memory)) +
         fewer_shapes(bounds);
}

Place first_shape(const toml::table& root) {
  const toml::array* shapes = root["shape"].as_array();
  return shapes == nullptr || shapes->empty() ? Place{} : place_of(shapes->front());
}

}  // namespace

void check_memory_bounds(const toml::table& root, const Config& config, const AvailableMemory& available,
                         Findings& findings) {
  const toml::table* daemon = root["daemon"].as_table();
  Bounds bounds;
  bounds.shapes = config.shapes.size();
  bounds.memory = bounds.shapes * config.daemon.memory.bytes;
  bounds.flows = bounds.shapes * config.daemon.max_flows * kBytesPerFlow;
  bounds.memory_given = daemon != nullptr && daemon->contains("memory");
  bounds.flows_given = daemon != nullptr && daemon->contains("max_flows");
  if (bounds.shapes == 0 || bounds.all() <= available.size.bytes) return;

  const std::string found = describe(bounds, config, available);
  if (bounds.given() == 0 || bounds.given() < available.size.bytes) {
    findings.add_warning(first_shape(root), found +
                                                "; packets are dropped when it runs out; [daemon] memory "
                                                "and max_flows bound what each shape may use");
    return;
  }
  const bool memory_is_the_larger =
      bounds.memory_given && (!bounds.flows_given || bounds.memory >= bounds.flows);
  const std::string key = memory_is_the_larger ? "memory" : "max_flows";
  const TableReader reader(*daemon, findings);
  findings.add_error(reader.place(key),
                     key + ": " + found +
                         (memory_is_the_larger ? fix_memory(bounds, config, available.size.bytes)
                                               : fix_flows(bounds, config, available.size.bytes)));
}

}  // namespace headgate
