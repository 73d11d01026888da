#include "policy/bubblewrap/bubblewrap_plan.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/options/validate.h"
#include "policy/text/path.h"
#include "protocol/order.h"

namespace native_runner {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// Returns the first word of a line. Options that are mentioned further right do not count.
std::string_view FirstWord(std::string_view line) {
  const std::size_t start = line.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return line.substr(start, std::min(line.find_first_of(kBlanks, start), line.size()) - start);
}

}  // namespace

BwrapFeatures ParseBwrapHelp(std::string_view help) {
  BwrapFeatures features;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    const std::string_view word = FirstWord(help.substr(0, end));
    features.bind_fd |= word == "--bind-fd";
    features.disable_userns |= word == "--disable-userns";
    features.as_pid_1 |= word == "--as-pid-1";
    features.size |= word == "--size";
    features.perms |= word == "--perms";
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return features;
}

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
    case Mount::Kind::kDevice:
      Add(options, {"--dev-bind"});
      options.push_back(mount.source);
      options.push_back(mount.target);
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
    case Mount::Kind::kHome:
      if (mount.is_for_owner) Add(options, {"--perms", "0700"});
      if (mount.size_bytes > 0) AddOnTarget(options, "--size", std::to_string(mount.size_bytes));
      AddOnTarget(options, "--tmpfs", mount.target);
      break;
    case Mount::Kind::kFile:
      if (mount.is_for_all) Add(options, {"--perms", "0644"});
      options.emplace_back("--file");
      options.push_back(std::to_string(mount.descriptor));
      options.push_back(mount.target);
      break;
    case Mount::Kind::kCache:
      if (mount.descriptor >= 0) {
        AddBind(options, mount, "", "--bind-fd");
      } else {
        Add(options, {"--overlay-src"});
        options.push_back(mount.source);
        AddOnTarget(options, "--tmp-overlay", mount.target);
      }
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

// True if the mount is one of the policy's and makes a system directory writable, as an extra
// option could (validate.h).
bool OpensSystem(const Mount& mount) {
  return mount.number && mount.kind == Mount::Kind::kBind &&
         (TouchesSystem(mount.source) || TouchesSystem(mount.target));
}

bool IsLauncher(const Mount& mount) {
  return mount.kind == Mount::Kind::kProgram;
}

// True if the mount shows a /proc: bwrap's own, or a bind that a caller named.
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

namespace {

Mount Tmpfs(const std::string& target, std::uint64_t size_bytes) {
  Mount mount = OnTarget(Mount::Kind::kTmpfs, target);
  mount.size_bytes = size_bytes;
  return mount;
}

void AddPrivateMounts(std::vector<Mount>& mounts, const BubblewrapPolicy& policy,
                      std::uint64_t tmp_bytes) {
  if (policy.with_proc) mounts.push_back(OnTarget(Mount::Kind::kProc, policy.proc_path));
  if (policy.with_dev) mounts.push_back(OnTarget(Mount::Kind::kDev, policy.dev_path));
  mounts.push_back(Tmpfs(policy.tmp_path, tmp_bytes));
}

bool BindsRoot(const Mount& mount) {
  return mount.kind == Mount::Kind::kReadOnlyBind && SamePath(mount.target, "/");
}

void Append(std::vector<Mount>& to, const std::vector<Mount>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::vector<Mount> ShownBinds(const HomeView& view) {
  std::vector<Mount> binds;
  for (const auto* list : {&view.shown, &view.followed}) {
    for (const ShownPath& each : *list) {
      binds.push_back(
          {.kind = Mount::Kind::kReadOnlyBind, .source = each.source, .target = each.target});
    }
  }
  return binds;
}

// Adds the home, and what is shown in it and elsewhere.
void AddHome(std::vector<Mount>& mounts, const BubblewrapPolicy& policy, const HostFacts& facts,
             std::uint64_t tmp_bytes) {
  if (!facts.home) return;
  const HomeView& view = *facts.home;
  const bool is_own = !view.path.empty() && view.directory.empty();
  if (is_own && !SamePath(view.path, policy.tmp_path)) {
    Mount& home = mounts.emplace_back(OnTarget(Mount::Kind::kHome, view.path));
    home.size_bytes = tmp_bytes;
    home.is_for_owner = facts.bwrap_perms;
  } else if (!view.path.empty() && !is_own) {
    mounts.push_back({.kind = Mount::Kind::kBind, .source = view.directory, .target = view.path});
  }
  if (is_own && !view.git_config.empty()) {
    mounts.push_back({.kind = Mount::Kind::kFile,
                      .source = view.git_config,
                      .target = JoinPath(view.path, ".gitconfig"),
                      .descriptor = facts.git_config_descriptor,
                      .is_for_all = facts.bwrap_perms});
  }
  if (!view.link.empty()) {
    mounts.push_back({.kind = Mount::Kind::kSymlink, .source = view.path, .target = view.link});
  }
  Append(mounts, ShownBinds(view));
  int descriptor = facts.cache_descriptor;
  for (const ShownCache& cache : view.caches) {
    mounts.push_back({.kind = Mount::Kind::kCache,
                      .source = cache.source,
                      .target = cache.target,
                      .descriptor = descriptor < 0 ? -1 : descriptor++});
  }
}

// Adds the policy's devices, and what is shown of them in /sys.
void AddDevices(std::vector<Mount>& mounts, const HostFacts& facts) {
  for (const HostFacts::Link& device : facts.devices) {
    mounts.push_back(
        {.kind = Mount::Kind::kDevice, .source = device.target, .target = device.path});
  }
  for (const std::string& part : facts.device_parts) {
    mounts.push_back({.kind = Mount::Kind::kReadOnlyBind, .source = part, .target = part});
  }
}

// Adds the sandbox's own file systems, the home, then the read-only binds in their order. A bind of
// "/" comes first, since it would hide every mount made before it. Returns true if there was one.
bool AddSystemMounts(std::vector<Mount>& mounts, const std::vector<Mount>& binds,
                     const BubblewrapPolicy& policy, const HostFacts& facts,
                     std::uint64_t tmp_bytes) {
  const auto root = std::find_if(binds.begin(), binds.end(), BindsRoot);
  if (root != binds.end()) mounts.push_back(*root);
  AddPrivateMounts(mounts, policy, tmp_bytes);
  AddHome(mounts, policy, facts, tmp_bytes);
  for (const Mount& bind : binds) {
    if (!BindsRoot(bind)) mounts.push_back(bind);
  }
  return root != binds.end();
}

// Seals everything but the workspace, /tmp and /dev/shm against writes, so the workspace's mount
// point is made first. A host's "/" is already bound read-only and must have it.
void SealMounts(std::vector<Mount>& mounts, const std::vector<Mount>& binds, bool has_root_bind,
                const BubblewrapPolicy& policy, const HostFacts& facts, std::uint64_t tmp_bytes) {
  if (!has_root_bind) {
    mounts.push_back(OnTarget(Mount::Kind::kDirectory, policy.workspace_path));
    mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, "/"));
  }
  if (policy.with_dev) mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, "/dev"));
  bool shows_shm = !policy.with_dev;
  for (const Mount& bind : binds)
    shows_shm |= PathCovers("/dev/shm", bind.target);
  if (!shows_shm) mounts.push_back(Tmpfs("/dev/shm", tmp_bytes));
  // bwrap keeps /proc/sys writable for uid 0, even without capabilities.
  if (facts.is_root && policy.with_proc) {
    mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, "/proc"));
  }
}

}  // namespace

BubblewrapPlan PlanBubblewrap(const BubblewrapPolicy& policy, const HostFacts& facts,
                              const std::string& workspace, int descriptor, const std::string& cwd,
                              std::uint64_t tmp_bytes, int launcher) {
  const bool is_strict = policy.isolation == Isolation::kStrict;
  const std::uint64_t size_bytes = is_strict ? tmp_bytes : 0;  // compat plans have no --size
  BubblewrapPlan plan;
  plan.chdir = cwd;
  PlanNetwork(policy.network, &plan.hardening);
  plan.hardening.isolate = is_strict;
  plan.hardening.disable_userns = is_strict && facts.bwrap_disable_userns;
  plan.hardening.as_pid_1 = is_strict;
  plan.secrets_masked = is_strict && facts.is_root;

  // An own root comes first: the sandbox's file systems and the home are mounted over it.
  plan.mounts = facts.root_mounts;
  std::vector<Mount> binds;
  std::copy_if(plan.mounts.begin(), plan.mounts.end(), std::back_inserter(binds),
               [](const Mount& each) { return each.kind == Mount::Kind::kReadOnlyBind; });
  const std::vector<Mount> of_host = PlanRoBinds(policy, facts);
  const bool has_root_bind = AddSystemMounts(plan.mounts, of_host, policy, facts, size_bytes);
  Append(binds, of_host);
  if (plan.secrets_masked) {
    Append(plan.mounts, PlanMasks(binds, facts));
    if (facts.home) Append(plan.mounts, PlanMasks(ShownBinds(*facts.home), facts));
  }
  if (!facts.unowned_directories.empty()) {
    HostFacts unowned;
    unowned.links = facts.links;
    unowned.secret_directories = facts.unowned_directories;
    Append(plan.mounts, PlanMasks(binds, unowned));
  }
  const HostMounts mounts =
      PlanHostMounts(policy, facts, facts.bwrap_bind_fd && descriptor >= 0 ? descriptor + 1 : -1);
  Append(plan.mounts, mounts.outside);
  if (plan.secrets_masked) Append(plan.mounts, PlanMasks(mounts.outside, facts));
  if (plan.hardening.net_by_domain) {
    HostFacts sockets;
    sockets.links = facts.links;
    sockets.secret_files = facts.resolver_sockets;
    Append(plan.mounts, PlanMasks(binds, sockets));
    Append(plan.mounts, PlanMasks(mounts.outside, sockets));
  }
  if (plan.hardening.net_by_domain || !facts.root.empty()) {
    Append(plan.mounts, PlanNameFiles(facts.name_files, facts.bwrap_perms));
  }
  AddDevices(plan.mounts, facts);
  for (const std::string& word : policy.extra_args)
    plan.mounts.push_back({.kind = Mount::Kind::kWord, .source = word, .target = ""});
  if (!policy.with_proc) {
    plan.mounts.push_back({.kind = Mount::Kind::kProgram,
                           .source = "",
                           .target = kLauncherFile,
                           .descriptor = launcher});
  }
  if (is_strict) SealMounts(plan.mounts, binds, has_root_bind, policy, facts, size_bytes);

  plan.mounts.push_back({.kind = Mount::Kind::kBind,
                         .source = workspace,
                         .target = policy.workspace_path,
                         .descriptor = facts.bwrap_bind_fd ? descriptor : -1});
  if (!policy.write_workspace) {
    plan.mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, policy.workspace_path));
  }
  Append(plan.mounts, mounts.in_workspace);
  if (plan.secrets_masked) Append(plan.mounts, PlanMasks(mounts.in_workspace, facts));
  return plan;
}

BubblewrapPlan PlanProcessSandbox(const BubblewrapPolicy& policy, const std::vector<Mount>& mounts,
                                  const std::string& cwd) {
  BubblewrapPlan plan;
  plan.chdir = cwd;
  plan.hardening.unshare_net = policy.network != Network::kAllow;
  plan.hardening.isolate = policy.isolation == Isolation::kStrict;
  AddSystemMounts(plan.mounts, PlanRoBinds(policy, {}), policy, {}, 0);
  if (plan.hardening.isolate) {
    plan.mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, policy.proc_path));
  }
  Append(plan.mounts, mounts);
  return plan;
}

BubblewrapPlan PlanPureBubblewrap(const BubblewrapPolicy& policy, const std::string& cwd) {
  BubblewrapPlan plan;
  plan.chdir = cwd;
  plan.hardening.unshare_net = policy.network != Network::kAllow;
  plan.hardening.isolate = policy.isolation == Isolation::kStrict;
  AddPrivateMounts(plan.mounts, policy, 0);
  if (!policy.root_directory.empty()) {
    plan.mounts.insert(
        plan.mounts.begin(),
        {.kind = Mount::Kind::kReadOnlyBind, .source = policy.root_directory, .target = "/"});
  }
  for (const std::string& path : RoBindsOf(policy)) {
    plan.mounts.push_back({.kind = Mount::Kind::kReadOnlyBind, .source = path, .target = path});
  }
  const HostMounts mounts = PlanHostMounts(policy, {}, -1);
  Append(plan.mounts, mounts.outside);
  plan.mounts.push_back(
      {.kind = Mount::Kind::kBind, .source = policy.shadow_dir, .target = policy.workspace_path});
  Append(plan.mounts, mounts.in_workspace);
  return plan;
}

namespace {

using Kind = Mount::Kind;

Error CannotClone(std::string why) {
  return {ErrorCode::kUnavailable, std::move(why), ""};
}

// True if the step makes nothing that could lie under a clone's own mount or hide its place.
bool IsNoMount(const Mount& mount) {
  return mount.kind == Kind::kRemountReadOnly || mount.kind == Kind::kDirectory;
}

class Planner {
 public:
  explicit Planner(const BubblewrapPlan& plan) : from_(plan) {}

  Result<TemplatePlan> Plan(const CloneFacts& facts) {
    const Hardening& hardening = from_.hardening;
    if (!hardening.isolate || !hardening.as_pid_1) return CannotClone("isolation is not strict");
    made_.plan = {.hardening = hardening, .mounts = {}, .chdir = from_.chdir};
    Hardening& of_template = made_.plan.hardening;
    of_template.is_template = true;
    of_template.disable_userns = false;
    of_template.net_by_domain = false;
    of_template.unshare_net = hardening.unshare_net || hardening.net_by_domain;
    for (const Mount& mount : from_.mounts) {
      // A clone would share the writes of all others.
      if (mount.kind == Kind::kCache) return CannotClone("it shows caches copy-on-write");
      if (mount.kind == Kind::kProgram || mount.kind == Kind::kWord) {
        return CannotClone(mount.kind == Kind::kWord ? "it has options of the caller's own"
                                                     : "it has no /proc");
      }
      Take(mount);
    }
    if (!has_proc_) return CannotClone("it has no /proc");
    if (!home_.empty() && !PlanHome()) return CannotClone("too much is shown in its home");
    if (!hidden_.empty()) return CannotClone("it has a mount of the policy's at " + hidden_);
    if (hardening.unshare_net) made_.steps.emplace_back(1, kStepNetworkNamespace);
    for (const std::string& step : facts.network_steps)
      made_.steps.push_back(step);
    std::string leave(1, kStepLeave);
    leave += std::to_string(facts.uid) + ":" + std::to_string(facts.gid);
    if (hardening.disable_userns) leave += '-';
    made_.steps.push_back(std::move(leave));
    return std::move(made_);
  }

 private:
  void Take(const Mount& mount) {
    if (mount.kind == Kind::kHome) return TakeHome(mount);
    if (mount.kind == Kind::kFile) {
      made_.steps.push_back(std::string(1, kStepFile) + mount.target + '\n' + mount.source);
      return;
    }
    if (TakeIntoHome(mount)) return made_.plan.mounts.push_back(mount);
    if (!IsNoMount(mount) && !IsState(mount)) CheckPlace(mount);
    switch (mount.kind) {
      case Kind::kProc:
        return TakeProc(mount);
      case Kind::kDev:
        Own(kStepTerminals, mount.target + "/pts");
        devices_ = mount.target;
        break;
      case Kind::kTmpfs:
        return TakeTmpfs(mount);
      case Kind::kRemountReadOnly:
        if (has_proc_ && SamePath(mount.target, proc_)) return;
        break;
      default:
        break;
    }
    made_.plan.mounts.push_back(mount);
  }

  void TakeProc(const Mount& mount) {
    has_proc_ = true;
    proc_ = mount.target;
    Own(kStepProc, mount.target, IsRemounted(mount) ? "r" : "");
    made_.plan.mounts.push_back(mount);
  }

  bool IsRemounted(const Mount& mount) const {
    return std::any_of(from_.mounts.begin(), from_.mounts.end(), [&mount](const Mount& each) {
      return each.kind == Kind::kRemountReadOnly && SamePath(each.target, mount.target);
    });
  }

  // A tmpfs that is remounted read-only hides something and stays empty, so it has no state.
  bool IsState(const Mount& mount) const {
    return mount.kind == Kind::kTmpfs && !IsRemounted(mount);
  }

  // Makes the mount point of a clone's tmpfs, unless bwrap's /dev brings it.
  void TakeTmpfs(const Mount& mount) {
    if (!IsState(mount)) return made_.plan.mounts.push_back(mount);
    Own(kStepTmpfs, mount.target);
    if (!devices_.empty() && PathCovers(devices_, mount.target)) return;
    made_.plan.mounts.push_back({.kind = Kind::kDirectory, .source = "", .target = mount.target});
  }

  void TakeHome(const Mount& mount) {
    home_ = mount.target;
    home_step_ = made_.steps.size();
    Own(kStepHome, mount.target);
    made_.plan.mounts.push_back(OnTarget(Kind::kDirectory, mount.target));
  }

  // True for a mount in a clone's own home. The template makes it, and each clone copies it into
  // its home, together with what is mounted in it.
  bool TakeIntoHome(const Mount& mount) {
    const bool is_inside =
        !home_.empty() && PathCovers(home_, mount.target) && !SamePath(home_, mount.target);
    if (!is_inside) return false;
    const bool is_known =
        std::any_of(in_home_.begin(), in_home_.end(),
                    [&mount](const std::string& each) { return PathCovers(each, mount.target); });
    if (!is_known && !IsNoMount(mount)) in_home_.push_back(mount.target);
    return true;
  }

  // Completes the home's step. False if it would have too many mounts, or one that the step's text
  // can't name.
  bool PlanHome() {
    std::string& step = made_.steps[home_step_];
    for (const std::string& path : in_home_) {
      if (path.find('\n') != std::string::npos) return false;
      step += '\n';
      step += path;
    }
    return in_home_.size() <= kMostInHome && home_.find('\n') == std::string::npos;
  }

  void Own(char step, const std::string& path, const char* before = "") {
    made_.steps.push_back(std::string(1, step) + before + path);
    own_.push_back(path);
  }

  void CheckPlace(const Mount& mount) {
    for (const std::string& own : own_) {
      if (PathCovers(own, mount.target) || PathCovers(mount.target, own)) hidden_ = mount.target;
    }
  }

  const BubblewrapPlan& from_;
  TemplatePlan made_;
  bool has_proc_ = false;
  std::string proc_;
  std::string devices_;
  std::string home_;
  std::size_t home_step_ = 0;
  std::vector<std::string> in_home_;
  std::vector<std::string> own_;
  std::string hidden_;
};

}  // namespace

Result<TemplatePlan> PlanTemplate(const BubblewrapPlan& plan, const CloneFacts& facts) {
  return Planner(plan).Plan(facts);
}

namespace {

// Returns "" for the root, so that "/" and a component can follow.
std::string AsPrefix(const std::string& path) {
  std::string normal = NormalPath(path);
  return normal == "/" ? std::string() : normal;
}

std::vector<Mount> PlanMounts(const std::vector<HostMount>& mounts) {
  std::vector<Mount> planned;
  planned.reserve(mounts.size());
  for (const HostMount& mount : mounts) {
    planned.push_back({.kind = mount.writable ? Mount::Kind::kBind : Mount::Kind::kReadOnlyBind,
                       .source = mount.host_path,
                       .target = mount.guest_path});
  }
  return planned;
}

std::string StartDirectory(const ProcessSandboxPolicy& policy,
                           const std::vector<HostMount>& mounts) {
  for (const HostMount& mount : mounts) {
    if (mount.label == policy.cwd_label) return mount.guest_path;
  }
  return "";
}

}  // namespace

std::optional<Error> CheckPolicy(const ProcessSandboxPolicy& policy) {
  const BubblewrapPolicy& sandbox = policy.sandbox;
  TRY(CheckProgram(sandbox.bwrap_path, "bwrapPath"));
  TRY(CheckAbsolutePaths(sandbox.ro_binds, "roBinds"));
  TRY(CheckPlainPath(sandbox.proc_path, "procPath"));
  TRY(CheckPlainPath(sandbox.dev_path, "devPath"));
  TRY(CheckPlainPath(sandbox.tmp_path, "tmpPath"));
  return CheckText(policy.cwd_label, "defaultCwdLabel");
}

std::optional<Error> CheckCommand(const ProcessCommand& command) {
  TRY(CheckPath(command.cmd, "cmd"));
  for (std::size_t i = 0; i < command.args.size(); ++i) {
    TRY(CheckText(command.args[i], "args[" + std::to_string(i) + "]"));
  }
  for (std::size_t i = 0; i < command.mounts.size(); ++i) {
    const std::string field = "mounts[" + std::to_string(i) + "].";
    const HostMount& mount = command.mounts[i];
    TRY(CheckPlainPath(mount.host_path, field + "hostPath"));
    TRY(CheckPlainPath(mount.guest_path, field + "guestPath"));
  }
  return std::nullopt;
}

std::string GuestArgument(std::string_view argument, const std::vector<HostMount>& mounts) {
  if (!argument.starts_with('/')) return std::string(argument);
  const HostMount* longest = nullptr;
  std::string host;
  for (const HostMount& mount : mounts) {
    std::string candidate = AsPrefix(mount.host_path);
    if (longest != nullptr && candidate.size() <= host.size()) continue;
    if (!argument.starts_with(candidate)) continue;
    const std::string_view rest = argument.substr(candidate.size());
    if (!rest.empty() && !rest.starts_with('/')) continue;
    if (!PathCovers(mount.host_path, argument)) continue;  // excludes "/host/../etc"
    longest = &mount;
    host = std::move(candidate);
  }
  if (longest == nullptr) return std::string(argument);
  std::string guest = AsPrefix(longest->guest_path);
  guest += argument.substr(host.size());
  return guest.empty() ? std::string(1, '/') : guest;
}

std::vector<std::string> ProcessSandboxArgs(const ProcessSandboxPolicy& policy,
                                            const ProcessCommand& command) {
  std::vector<std::string> args = BubblewrapOptions(PlanProcessSandbox(
      policy.sandbox, PlanMounts(command.mounts), StartDirectory(policy, command.mounts)));
  // bwrap's options end at the first word that does not start with "-".
  if (command.cmd.starts_with('-')) args.emplace_back("--");
  args.push_back(command.cmd);
  for (const std::string& argument : command.args)
    args.push_back(GuestArgument(argument, command.mounts));
  return args;
}

}  // namespace native_runner
