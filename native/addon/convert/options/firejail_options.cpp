#include <utility>

#include "addon/convert/options/policy_options.h"
#include "addon/convert/options/shared_options.h"
#include "policy/options/validate.h"

namespace native_runner {

FirejailPolicy ReadFirejailPolicy(Fields& options) {
  FirejailPolicy policy;
  policy.firejail_path = options.String("firejailPath").value_or(policy.firejail_path);
  policy.shadow_dir = options.RequiredString("shadowDir");
  policy.profile = options.String("profile");
  auto reads = options.Strings("fsReadDirs");
  policy.read_dirs_named = reads.has_value();
  policy.read_dirs = std::move(reads).value_or(DefaultFirejailReadDirs());
  policy.write_dirs = ReadStrings(options, "fsWriteDirs");
  policy.extra_args = ReadStrings(options, "extraArgs");
  policy.network = ReadNetwork(options, Network::kDeny);
  policy.environment = ReadEnvironmentPolicy(options);
  policy.required = ReadStrings(options, "required");
  return Checked(options, std::move(policy));
}

}  // namespace native_runner
