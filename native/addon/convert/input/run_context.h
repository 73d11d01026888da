#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "addon/convert/fields.h"
#include "policy/options/request.h"

namespace native_runner {

// What only JavaScript knows of a run; types/addon.d.ts's NativeContext.
struct RunContext {
  std::string policy_hash;
  bool is_aborted = false;
  std::optional<std::vector<Variable>>
      environment;  // the host's, where it is not environ (workers)
  std::optional<Napi::Function> on_connection;
  std::shared_ptr<const AdviceLists> advice;  // or none
};

RunContext ReadRunContext(Fields& context);

}  // namespace native_runner
