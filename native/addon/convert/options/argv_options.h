#pragma once

#include <string>
#include <vector>

#include "addon/convert/fields.h"
#include "policy/options/policy.h"

namespace native_runner {

// The options of buildBubblewrapArgv. What comes back after a fault is not to be used.
struct ArgvOptions {
  BubblewrapPolicy policy;
  std::string cwd;  // absolute, inside the sandbox
  std::vector<std::string> command;
};
ArgvOptions ReadArgvOptions(Fields& options);

}  // namespace native_runner
