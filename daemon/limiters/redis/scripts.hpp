// The limiters' scripts: scripts/common.lua with one of the others after it.
#pragma once

#include "headgate/redis/connection.hpp"

namespace headgate::redis {

extern const Script kFixedWindowScript;
extern const Script kGcraScript;
extern const Script kSlidingCountersScript;
extern const Script kSlidingLogScript;
extern const Script kTokenBucketScript;

}  // namespace headgate::redis
