// `headgatectl plan`: makes networks members of plans, or takes them out.
#pragma once

#include "invocation.hpp"

namespace headgate {

int plan(const Invocation& invocation);

}  // namespace headgate
