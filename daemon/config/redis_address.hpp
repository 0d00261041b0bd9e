// Where a Redis server is: "unix:/path" or "host:port", as headgate/redis/connection.hpp takes it.
#pragma once

#include <string>

#include "config/reading.hpp"

namespace headgate {

// The target is unchanged after an error. Whether somebody listens there is seen when it is asked.
Reading read_redis_address(const std::string& text, std::string& address);

}  // namespace headgate
