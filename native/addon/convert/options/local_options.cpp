#include <utility>

#include "addon/convert/options/policy_options.h"
#include "addon/convert/options/shared_options.h"
#include "policy/options/validate.h"

namespace native_runner {

LocalPolicy ReadLocalPolicy(Fields& options) {
  LocalPolicy policy;
  policy.shadow_dir = options.RequiredString("shadowDir");
  options.Know("transaction");
  policy.environment = ReadEnvironmentPolicy(options);
  return Checked(options, std::move(policy));
}

}  // namespace native_runner
