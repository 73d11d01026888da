#include <utility>

#include "addon/convert/options/network_options.h"
#include "addon/convert/options/policy_options.h"
#include "addon/convert/options/shared_options.h"
#include "policy/options/validate.h"

namespace native_runner {
namespace {

HostMount ReadMount(Fields& fields) {
  HostMount mount;
  mount.host_path = fields.RequiredString("hostPath");
  mount.guest_path = fields.String("guestPath").value_or(mount.host_path);
  mount.writable = fields.RequiredOneOf("mode", {"ro", "rw"}) == 1;
  mount.label = fields.String("label");
  return mount;
}

}  // namespace

BubblewrapPolicy ReadBubblewrapPolicy(Fields& options) {
  BubblewrapPolicy policy;
  policy.bwrap_path = options.String("bwrapPath").value_or(policy.bwrap_path);
  policy.shadow_dir = options.RequiredString("shadowDir");
  options.Know("transaction");
  ReadRoBinds(options, policy);
  options.Objects("mounts",
                  [&policy](Fields& mount) { policy.mounts.push_back(ReadMount(mount)); });
  auto [network, by_domain] = ReadNetworkChoice(options);
  policy.network = network;
  policy.by_domain = std::move(by_domain);
  policy.isolation = ReadIsolation(options);
  if (policy.network == Network::kByDomain && policy.isolation == Isolation::kCompat) {
    options.reader().Fail(
        {ErrorCode::kInvalidValue,
         "Expected `isolation` to be \"strict\" with a `network` by domain, got \"compat\"", ""});
  }
  policy.environment = ReadEnvironmentPolicy(options);
  policy.environment.own_proxy = policy.network == Network::kByDomain;
  policy.required = ReadStrings(options, "required");
  policy.extra_args = ReadStrings(options, "extraArgs");
  policy.with_proc = options.Boolean("procBind").value_or(true);
  policy.with_dev = options.Boolean("devBind").value_or(true);
  policy.write_workspace = options.Boolean("allowWriteWorkspace").value_or(true);
  for (const std::string& layer : ReadStrings(options, "layers")) {
    if (layer == "landlock") {
      policy.with_landlock = true;
    } else {
      options.reader().Fail({ErrorCode::kInvalidValue,
                             "Expected `layers` to hold \"landlock\" only, got \"" + layer + "\"",
                             ""});
    }
  }
  return Checked(options, std::move(policy));
}

}  // namespace native_runner
