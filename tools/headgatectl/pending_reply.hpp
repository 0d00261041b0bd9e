// A request whose reply is waited for together with other things, by poll().
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "linux/file_descriptor.hpp"

namespace headgate {

class PendingReply {
 public:
  // Asks. Throws ControlError when nobody is there to be asked.
  PendingReply(const std::string& path, const nlohmann::ordered_json& request);

  // To wait for, until it is readable.
  int descriptor() const { return socket_.get(); }

  // Takes what has come, without waiting. Nothing: there is more to come. Throws ControlError, for an error reply too.
  std::optional<nlohmann::ordered_json> take();

 private:
  std::string path_;
  FileDescriptor socket_;
  std::string received_;
};

}  // namespace headgate
