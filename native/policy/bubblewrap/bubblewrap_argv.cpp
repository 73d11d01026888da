#include "policy/bubblewrap/bubblewrap_argv.h"

#include <algorithm>
#include <initializer_list>

#include "policy/options/extra_args.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

using Options = std::vector<std::string>;

void Add(Options& options, std::initializer_list<const char*> words) {
  options.insert(options.end(), words.begin(), words.end());
}

void AddHardening(Options& options, const Hardening& hardening) {
  if (hardening.die_with_parent) Add(options, {"--die-with-parent"});
  if (hardening.new_session) Add(options, {"--new-session"});
  if (hardening.unshare_net) Add(options, {"--unshare-net"});
  if (hardening.isolate && hardening.is_template) {
    // Without --unshare-cgroup, which would keep clones from being born into a cgroup.
    Add(options,
        {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--cap-add", "ALL"});
  } else if (hardening.isolate) {
    Add(options, {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                  "--unshare-cgroup", "--cap-drop", "ALL"});
  }
  if (hardening.disable_userns) Add(options, {"--disable-userns"});
  if (hardening.as_pid_1) Add(options, {"--as-pid-1"});
}

void AddBind(Options& options, const Mount& mount, const char* by_path, const char* by_descriptor) {
  if (mount.descriptor >= 0) {
    options.emplace_back(by_descriptor);
    options.push_back(std::to_string(mount.descriptor));
  } else {
    options.emplace_back(by_path);
    options.push_back(mount.source);
  }
  options.push_back(mount.target);
}

void AddOnTarget(Options& options, const char* option, const std::string& target) {
  options.emplace_back(option);
  options.push_back(target);
}

void AddMount(Options& options, const Mount& mount) {
  switch (mount.kind) {
    case Mount::Kind::kReadOnlyBind:
      AddBind(options, mount, "--ro-bind", "--ro-bind-fd");
      break;
    case Mount::Kind::kBind:
      AddBind(options, mount, "--bind", "--bind-fd");
      break;
    case Mount::Kind::kSymlink:
      options.emplace_back("--symlink");
      options.push_back(mount.source);
      options.push_back(mount.target);
      break;
    case Mount::Kind::kProc:
      AddOnTarget(options, "--proc", mount.target);
      break;
    case Mount::Kind::kDev:
      AddOnTarget(options, "--dev", mount.target);
      break;
    case Mount::Kind::kTmpfs:
      if (mount.size_bytes > 0) AddOnTarget(options, "--size", std::to_string(mount.size_bytes));
      AddOnTarget(options, "--tmpfs", mount.target);
      break;
    case Mount::Kind::kEmpty:
      Add(options, {"--perms", "0555"});
      AddOnTarget(options, "--tmpfs", mount.target);
      break;
    case Mount::Kind::kDirectory:
      AddOnTarget(options, "--dir", mount.target);
      break;
    case Mount::Kind::kRemountReadOnly:
      AddOnTarget(options, "--remount-ro", mount.target);
      break;
    case Mount::Kind::kProgram:
      Add(options, {"--perms", "0555", "--ro-bind-data"});
      options.push_back(std::to_string(mount.descriptor));
      options.push_back(mount.target);
      break;
    case Mount::Kind::kText:
      if (mount.is_for_all) Add(options, {"--perms", "0444"});
      options.emplace_back("--ro-bind-data");
      options.push_back(std::to_string(mount.descriptor));
      options.push_back(mount.target);
      break;
    case Mount::Kind::kWord:
      options.push_back(mount.source);
      break;
  }
}

bool MakesRootReadOnly(const Mount& mount) {
  const bool is_read_only =
      mount.kind == Mount::Kind::kRemountReadOnly || mount.kind == Mount::Kind::kReadOnlyBind;
  return is_read_only && SamePath(mount.target, "/");
}

// One of the policy's mounts, as an extra option that does the same (extra_args.h).
bool OpensSystem(const Mount& mount) {
  return mount.number && mount.kind == Mount::Kind::kBind &&
         (TouchesSystem(mount.source) || TouchesSystem(mount.target));
}

bool IsLauncher(const Mount& mount) {
  return mount.kind == Mount::Kind::kProgram;
}

// Mounts that a /proc comes with: bwrap's own, or a bind that a caller named.
bool ShowsProc(const Mount& mount) {
  if (mount.kind == Mount::Kind::kProc) return true;
  const bool is_bind = mount.kind == Mount::Kind::kBind || mount.kind == Mount::Kind::kReadOnlyBind;
  const std::string& shown = mount.number ? mount.source : mount.target;
  return is_bind && (PathCovers(shown, "/proc") || PathCovers("/proc", shown));
}

}  // namespace

void PlanNetwork(Network network, Hardening* hardening) {
  hardening->unshare_net = network == Network::kDeny;
  hardening->net_by_domain = network == Network::kByDomain;
}

std::vector<std::string> BubblewrapOptions(const BubblewrapPlan& plan) {
  Options options;
  options.reserve(16 + 3 * plan.mounts.size());
  AddHardening(options, plan.hardening);
  for (const Mount& mount : plan.mounts)
    AddMount(options, mount);
  if (!plan.chdir.empty()) AddOnTarget(options, "--chdir", plan.chdir);
  return options;
}

std::vector<Layer> BubblewrapLayers(const BubblewrapPlan& plan) {
  const Hardening& hardening = plan.hardening;
  std::vector<Layer> layers;
  layers.reserve(kLayerNames.size());
  layers.push_back(Layer::kMountNamespace);
  if (hardening.isolate) {
    for (const Layer layer : {Layer::kUserNamespace, Layer::kPidNamespace, Layer::kIpcNamespace,
                              Layer::kUtsNamespace, Layer::kCgroupNamespace})
      layers.push_back(layer);
  }
  if (hardening.unshare_net || hardening.net_by_domain) {
    layers.push_back(Layer::kNetworkNamespace);
  }
  if (hardening.net_by_domain) layers.push_back(Layer::kNetworkByDomain);
  if (hardening.isolate) layers.push_back(Layer::kNoCapabilities);
  if (hardening.disable_userns) layers.push_back(Layer::kUsernsDisabled);
  if (hardening.isolate && std::any_of(plan.mounts.begin(), plan.mounts.end(), MakesRootReadOnly) &&
      std::none_of(plan.mounts.begin(), plan.mounts.end(), OpensSystem)) {
    layers.push_back(Layer::kReadOnlyRoot);
  }
  if (plan.secrets_masked) layers.push_back(Layer::kSecretsMasked);
  if (std::any_of(plan.mounts.begin(), plan.mounts.end(), IsLauncher) &&
      std::none_of(plan.mounts.begin(), plan.mounts.end(), ShowsProc)) {
    layers.push_back(Layer::kNoProc);
  }
  return layers;
}

}  // namespace native_runner
