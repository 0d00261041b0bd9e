#include "config/config_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "config/daemon_reader.hpp"
#include "config/findings.hpp"
#include "config/known_keys.hpp"
#include "config/shape_conflicts.hpp"
#include "config/shape_reader.hpp"
#include "config/syntax_error.hpp"
#include "config/table_reader.hpp"

namespace headgate {
namespace {

constexpr std::size_t kMaxFile = 1024 * 1024;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

std::string system_message(int error) {
  return std::system_category().message(error);
}

// Returns what is wrong; empty: `text` is the file's.
std::string read_file(const std::string& path, std::string& text) {
  // Not blocking, so that a pipe without a writer is refused instead of waited for.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return "cannot open the file: " + system_message(errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return "cannot examine the file: " + system_message(errno);
  if (S_ISDIR(status.st_mode)) return "this is a directory, expected a file";
  if (!S_ISREG(status.st_mode)) return "this is not a regular file";
  std::array<char, 16 * 1024> piece;
  while (text.size() <= kMaxFile) {
    const ssize_t length = read(file.number(), piece.data(), piece.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return "cannot read the file: " + system_message(errno);
    if (length == 0) return {};
    text.append(piece.data(), static_cast<std::size_t>(length));
  }
  return "the file is larger than 1 MiB, which is no configuration";
}

std::vector<ShapeConfig> read_shapes(const toml::array& tables, Findings& findings) {
  std::vector<PlacedShape> shapes;
  for (const toml::node& node : tables) {
    const toml::table* table = node.as_table();
    if (table == nullptr) continue;
    const TableReader reader(*table, findings);
    shapes.push_back({read_shape(*table, findings), reader.place("interface"), reader.place("forward_to")});
  }
  check_shapes_together(shapes, findings);
  std::vector<ShapeConfig> configs;
  configs.reserve(shapes.size());
  for (PlacedShape& shape : shapes) configs.push_back(std::move(shape.config));
  return configs;
}

Config read_config(const toml::table& root, Findings& findings) {
  report_unknown_keys(root, TableKind::file, findings);
  const TableReader reader(root, findings);
  Config config;
  if (const toml::table* daemon = reader.table("daemon", "daemon"))
    config.daemon = read_daemon(*daemon, findings);
  if (const toml::array* shapes = reader.tables("shape", "shape"))
    config.shapes = read_shapes(*shapes, findings);
  return config;
}

}  // namespace

std::string ConfigError::to_string() const {
  if (line == 0) return file + ": " + message;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

ConfigResult parse_config(std::string_view text, const std::string& file_name) {
  ConfigResult result;
  if (const auto error = check_characters(text)) {
    result.errors.push_back({file_name, error->place.line, error->place.column, error->message});
    return result;
  }
  try {
    const toml::table root = toml::parse(text, file_name);
    Findings findings(file_name);
    result.config = read_config(root, findings);
    findings.hand_over(result);
  } catch (const toml::parse_error& exception) {
    SyntaxError error = describe(exception, text);
    result.errors.push_back({file_name, error.place.line, error.place.column, std::move(error.message)});
  }
  return result;
}

ConfigResult load_config(const std::string& path) {
  std::string text;
  if (std::string problem = read_file(path, text); !problem.empty()) {
    ConfigResult result;
    result.errors.push_back({path, 0, 0, std::move(problem)});
    return result;
  }
  return parse_config(text, path);
}

}  // namespace headgate
