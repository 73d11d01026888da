#include <utility>

#include "addon/convert/options/network_options.h"
#include "addon/convert/options/policy_options.h"
#include "addon/convert/options/shared_options.h"

namespace native_runner {

ProjectPolicy ReadProjectPolicy(Fields& options) {
  ProjectPolicy policy;
  policy.bwrap_path = options.String("bwrapPath").value_or(policy.bwrap_path);
  policy.folders = ReadStrings(options, "folders");
  policy.projects = ReadStrings(options, "projects");
  policy.secrets = ReadStrings(options, "secrets");
  policy.read_only = ReadStrings(options, "readOnly");
  auto [network, by_domain] = ReadNetworkChoice(options);
  policy.network = network;
  policy.by_domain = std::move(by_domain);
  policy.disable_userns = options.Boolean("disableUserns").value_or(true);
  policy.host_proc = options.Boolean("hostProc").value_or(false);
  policy.environment = ReadEnvironmentPolicy(options);
  policy.environment.own_proxy = policy.network == Network::kByDomain;
  return Checked(options, std::move(policy));
}

}  // namespace native_runner
