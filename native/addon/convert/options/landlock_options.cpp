#include <utility>

#include "addon/convert/options/policy_options.h"
#include "addon/convert/options/shared_options.h"
#include "policy/options/validate.h"

namespace native_runner {

LandlockPolicy ReadLandlockPolicy(Fields& options) {
  LandlockPolicy policy;
  policy.shadow_dir = options.RequiredString("shadowDir");
  options.Know("transaction");
  auto reads = options.Strings("fsReadDirs");
  auto writes = options.Strings("fsWriteDirs");
  policy.read_dirs_named = reads.has_value();
  policy.write_dirs_named = writes.has_value();
  policy.read_dirs = std::move(reads).value_or(DefaultReadDirs());
  policy.write_dirs = std::move(writes).value_or(DefaultWriteDirs());
  policy.read_workspace = options.Boolean("allowReadWorkspace").value_or(true);
  policy.write_workspace = options.Boolean("allowWriteWorkspace").value_or(true);
  policy.network = ReadNetwork(options, Network::kDeny);
  policy.environment = ReadEnvironmentPolicy(options);
  policy.required = ReadStrings(options, "required");
  return Checked(options, std::move(policy));
}

}  // namespace native_runner
