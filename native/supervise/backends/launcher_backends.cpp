#include "supervise/backends/launcher_backends.h"

#include <dirent.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/text/path.h"
#include "policy/text/text.h"
#include "protocol/order.h"
#include "supervise/backends/bubblewrap_backend.h"
#include "supervise/host/fingerprint.h"
#include "supervise/host/host.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"
#include "supervise/project/homes.h"
#include "supervise/project/project_scene.h"

namespace native_runner {

RunRecord LocalBackend::Unprepared(const ExecRequest& request) const {
  return {"local", request.argv[0], request.argv, policy_.shadow_dir, {}};
}

void LocalBackend::Prepare(const ExecRequest& request, SupervisorContext& shared,
                           Ready ready) const {
  PlanFromHost(
      request, shared,
      [this, &shared](const ExecRequest& asked, const HostView& view) {
        return Plan(asked, shared, view);
      },
      std::move(ready));
}

Result<Preparation> LocalBackend::Plan(const ExecRequest& request, const SupervisorContext& shared,
                                       const HostView& /*view*/) const {
  TRY_ASSIGN(auto relative, WorkspaceRelative(request.cwd, "LocalNativeRunner"));
  TRY_ASSIGN(auto workspace, OpenWorkspace(policy_.shadow_dir));
  TRY_ASSIGN(const auto entered, MountedOf(transaction_));
  if (entered) {
    TRY(TakeCopy(*entered, &workspace));
  }

  Preparation preparation;
  SpawnPlan& plan = preparation.plan.emplace<SpawnPlan>();
  preparation.cwd = JoinPath(workspace.path, relative);
  preparation.record = {
      "local", request.argv[0], request.argv, preparation.cwd, {Layer::kTreeKillSubreaper}};
  preparation.places = {
      .watched = entered ? ChangesIn(*entered) : std::vector<std::string>{workspace.path},
      .uncountable = "commands that are not confined can write anywhere"};
  const auto limited = ApplyLimits(request.limits, shared.cgroups, false, &preparation);
  if (limited) return *limited;
  plan.spawn.path = "/proc/self/fd/" + std::to_string(shared.launcher.get());
  plan.spawn.argv = {"native-runner-launcher"};
  if (entered) {
    preparation.record.layers.Add(LayerOf(*entered));
    const int launcher = shared.launcher.get();
    TRY(EnterMounted(entered, workspace.directory.get(), launcher, &plan));
  }
  return preparation;
}

namespace {

constexpr std::array kDevices = {"/dev/null",   "/dev/zero",    "/dev/full",
                                 "/dev/random", "/dev/urandom", "/dev/tty"};

bool Exists(const std::string& path) {
  NotePath(path);
  return access(path.c_str(), F_OK) == 0;
}

std::string Rule(char kind, const std::string& path) {
  return kind + path;
}

// Returns true if the path is a secret or lies in one.
bool IsSecret(const std::vector<std::string>& secrets, const std::string& path) {
  return std::any_of(secrets.begin(), secrets.end(),
                     [&path](const std::string& secret) { return PathCovers(secret, path); });
}

bool HoldsSecret(const std::vector<std::string>& secrets, const std::string& directory) {
  return std::any_of(secrets.begin(), secrets.end(), [&directory](const std::string& secret) {
    return PathCovers(directory, secret);
  });
}

// `kind`: of the rules that allow reading.
void AddAround(const std::vector<std::string>& secrets, const std::string& path,
               std::vector<std::string>* rules, char kind = kRuleRead) {
  if (IsSecret(secrets, path)) return;
  if (!HoldsSecret(secrets, path)) {
    rules->push_back(Rule(kind, path));
    return;
  }
  rules->push_back(Rule(kRuleList, path));
  NotePath(path);
  DIR* entries = opendir(path.c_str());
  if (entries == nullptr) return;  // a directory that we can't list gets no rules
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string below = JoinPath(path == "/" ? "" : path, name);
    // A dangling link can't be opened; any other link is judged by its target.
    std::array<char, PATH_MAX> real{};
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
      NotePath(below);
      if (realpath(below.c_str(), real.data()) == nullptr) continue;
      const bool is_link = below != real.data();
      if (is_link && HoldsSecret(secrets, real.data())) continue;
      if (IsSecret(secrets, real.data())) continue;
    }
    AddAround(secrets, below, rules, kind);
  }
  closedir(entries);
}

std::optional<Error> Missing(const std::vector<std::string>& directories, bool named,
                             const char* field, std::vector<std::string>* existing) {
  for (const std::string& directory : directories) {
    if (Exists(directory)) {
      existing->push_back(directory);
    } else if (named) {
      return Error{ErrorCode::kSetup,
                   std::string(field) + " names \"" + directory + "\", which this host lacks",
                   std::string("remove it from ") + field + ", or create it"};
    }
  }
  return std::nullopt;
}

// A file that is shown as this one would be empty in a sandbox with mounts.
constexpr std::string_view kMask = "/dev/null";

// Adds what is read of the host's tools. One that has gone since it was found gets no rule.
void AddTools(const HomeView& view, std::vector<std::string> hidden,
              std::vector<std::string>* rules) {
  std::array<char, PATH_MAX> real{};
  for (const ShownPath& each : view.shown) {
    if (each.source != kMask) continue;
    NotePath(each.target);
    hidden.emplace_back(realpath(each.target.c_str(), real.data()) != nullptr ? real.data()
                                                                              : each.target);
  }
  for (const auto* paths : {&view.shown, &view.followed}) {
    for (const ShownPath& each : *paths) {
      if (each.source != kMask) AddAround(hidden, each.source, rules, kRuleReadEntry);
    }
  }
}

}  // namespace

Result<std::vector<std::string>> LandlockRules(const LandlockPolicy& policy, const Secrets& secrets,
                                               const std::string& workspace, const HomeView* view,
                                               const std::string& home,
                                               const OpenedDevices& devices) {
  std::vector<std::string> reads;
  std::vector<std::string> writes;
  TRY(Missing(policy.read_dirs, policy.read_dirs_named, "fsReadDirs", &reads));
  TRY(Missing(policy.write_dirs, policy.write_dirs_named, "fsWriteDirs", &writes));
  std::vector<std::string> hidden = secrets.files;
  hidden.insert(hidden.end(), secrets.directories.begin(), secrets.directories.end());
  std::vector<std::string> rules;
  for (const std::string& directory : reads) {
    std::array<char, PATH_MAX> real{};
    AddAround(hidden, realpath(directory.c_str(), real.data()) != nullptr ? real.data() : directory,
              &rules);
  }
  if (view != nullptr) AddTools(*view, hidden, &rules);
  for (const std::string& directory : writes)
    rules.push_back(Rule(kRuleWrite, directory));
  if (!home.empty()) {
    rules.push_back(Rule(kRuleRead, home));
    rules.push_back(Rule(kRuleWrite, home));
  }
  if (policy.read_workspace) rules.push_back(Rule(kRuleRead, workspace));
  if (policy.write_workspace) rules.push_back(Rule(kRuleWrite, workspace));
  for (const char* device : kDevices) {
    if (Exists(device)) rules.push_back(Rule(kRuleDevice, device));
  }
  for (const OpenedDevice& device : devices.nodes)
    rules.push_back(Rule(kRuleDevice, device.real_path));
  for (const std::string& part : devices.parts)
    rules.push_back(Rule(kRuleRead, part));
  return rules;
}

std::vector<std::string> LandlockRulesInside(const BubblewrapPolicy& policy, const HomeView* home,
                                             const std::vector<HostFacts::Link>& devices) {
  std::vector<std::string> rules = {Rule(kRuleRead, "/"), Rule(kRuleWrite, policy.workspace_path),
                                    Rule(kRuleWrite, "/tmp")};
  if (home != nullptr && !home->path.empty()) rules.push_back(Rule(kRuleWrite, home->path));
  for (const HostMount& mount : policy.mounts) {
    if (mount.writable) rules.push_back(Rule(kRuleWrite, mount.guest_path));
  }
  if (policy.with_dev) {
    rules.push_back(Rule(kRuleWrite, "/dev/shm"));
    rules.push_back(Rule(kRuleDevice, "/dev"));
  } else {
    for (const HostFacts::Link& device : devices)
      rules.push_back(Rule(kRuleDevice, device.path));
  }
  if (policy.with_proc) rules.push_back(Rule(kRuleDevice, "/proc"));
  return rules;
}

namespace {

constexpr long kCreateRuleset = 444;
constexpr unsigned kAskVersion = 1;

// Refuses write directories over the transaction's state: a command's writes there would be
// committed into the workspace.
std::optional<Error> CheckWriteDirs(const MountedWorkspace& mounted, const LandlockPolicy& policy) {
  for (const std::string& path : policy.write_dirs) {
    if (!HoldsState(mounted, RealPathAsFar(path))) continue;
    return Error{ErrorCode::kSetup,
                 "fsWriteDirs names " + QuotedShort(path) + ", by which commands could write to " +
                     mounted.state + ", where the transaction is kept",
                 "keep transactions elsewhere (option `directory`), or leave it out"};
  }
  return std::nullopt;
}

// The same for a home on the host: it may be the transaction's own.
std::optional<Error> CheckOwnHome(const MountedWorkspace& mounted, const std::string& home) {
  if (home.empty() || !HoldsState(mounted, home) ||
      home == JoinPath(mounted.state, kTransactionHome)) {
    return std::nullopt;
  }
  return Error{ErrorCode::kSetup,
               "the home " + QuotedShort(home) + " would let commands write to " + mounted.state +
                   ", where the transaction is kept",
               "keep transactions elsewhere (option `directory`), or use another `home`"};
}

// True if commands of other runs can't reach the homes by what the policy lets all of them use.
bool IsAlone(const LandlockPolicy& policy, const std::string& homes) {
  if (homes.empty()) return false;
  const auto reaches = [&homes](const std::string& path) {
    return PathCovers(RealPathAsFar(path), homes);
  };
  return std::none_of(policy.read_dirs.begin(), policy.read_dirs.end(), reaches) &&
         std::none_of(policy.write_dirs.begin(), policy.write_dirs.end(), reaches) &&
         !reaches(policy.shadow_dir);
}

}  // namespace

Error NoLandlock() {
  utsname kernel{};
  uname(&kernel);
  return Error{
      ErrorCode::kUnavailable,
      std::string("Landlock needs Linux 5.13 or newer with landlock enabled, this kernel is ") +
          kernel.release,
      "use a newer kernel, or add landlock to the kernel's lsm= parameter"};
}

int LandlockAbi() {
  const long abi = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

RunRecord LandlockBackend::Unprepared(const ExecRequest& request) const {
  return {"landlock", request.argv[0], request.argv, policy_.shadow_dir, {}};
}

void LandlockBackend::Prepare(const ExecRequest& request, SupervisorContext& shared,
                              Ready ready) const {
  if (const auto home = ViewFor(request)) RemoveLeftHomesOnce(*home, shared);
  const bool answers = shared.files == nullptr || shared.mount_table.AreLocal();
  PlanFromHost(
      request, shared,
      [this, &shared, answers](const ExecRequest& asked, const HostView& view) {
        return Plan(asked, shared, view, answers);
      },
      std::move(ready));
}

// The view that the request's variables fit, or the current one for a session.
std::shared_ptr<const HomeView> LandlockBackend::ViewFor(const ExecRequest& request) const {
  return request.home || !policy_.shown ? request.home : policy_.shown->view();
}

// Removes what hosts have left that died while commands ran.
void LandlockBackend::RemoveLeftHomesOnce(const HomeView& view, SupervisorContext& shared) const {
  if (view.homes.empty() || shared.files == nullptr || has_removed_left_homes_.exchange(true)) {
    return;
  }
  const auto homes = std::make_shared<const std::string>(view.homes);
  shared.files->Do(
      homes.get(), [homes] { RemoveLeftHomes(*homes); },
      [](const std::optional<Error>& /*late*/) {});
}

Result<Preparation> LandlockBackend::Plan(const ExecRequest& request,
                                          const SupervisorContext& shared, const HostView& view,
                                          bool answers) const {
  if (LandlockAbi() == 0) return NoLandlock();
  const auto shown = ViewFor(request);
  if (shown && !shown->failure.empty()) {
    return Error{ErrorCode::kSetup, shown->failure, shown->fix};
  }
  TRY_ASSIGN(auto relative, WorkspaceRelative(request.cwd, "NativeRunner.exec"));
  if (request.Is<SessionSandbox>() && request.limits.memory_bytes) {
    return Error{ErrorCode::kSetup, "Landlock has no private /tmp, which tmpBytes is the size of",
                 "leave tmpBytes out, or use Bubblewrap"};
  }
  TRY_ASSIGN(auto workspace, OpenWorkspace(policy_.shadow_dir));
  TRY_ASSIGN(const auto entered, MountedOf(transaction_));
  if (entered) {
    TRY(TakeCopy(*entered, &workspace));
  }
  std::string home = shown ? shown->directory : "";
  std::shared_ptr<const PrivateHome> own;
  if (shown && !shown->homes.empty() && !request.Is<ExplainCall>()) {
    TRY_ASSIGN(own, PrivateHome::Make(shown->homes, shown->git_config, shared.files, answers));
    home = own->path();
  }
  TRY_ASSIGN(const auto devices, OpenDevices(policy_.devices));
  TRY_ASSIGN(auto rules, LandlockRules(policy_, view.host.FindSecrets(), workspace.path,
                                       shown.get(), home, devices));

  Preparation preparation;
  SpawnPlan& plan = preparation.plan.emplace<SpawnPlan>();
  if (own) {
    preparation.home = home;
    plan.holds = own;
  }
  preparation.rules = std::move(rules);
  plan.workspace = workspace.path;
  preparation.scene = std::make_shared<const DenialScene>(
      DenialScene{.wall = DenialScene::Wall::kLandlock,
                  .rules = preparation.rules,
                  .workspace = workspace.path,
                  .may_write_workspace = policy_.write_workspace,
                  .network = policy_.network});
  preparation.cwd = JoinPath(workspace.path, relative);
  preparation.record = {"landlock",
                        request.argv[0],
                        request.argv,
                        preparation.cwd,
                        {Layer::kNoCapabilities, Layer::kNoNewPrivs, Layer::kSeccomp}};
  preparation.order.flags = kOrderLandlock | kOrderScoped | kOrderNoNewPrivs | kOrderSeccomp |
                            kOrderDropCapabilities | kOrderNoCapabilities | kOrderMakeInit;
  if (!devices.nodes.empty()) preparation.order.flags |= kOrderCheckFiles;
  for (std::string& rule : DeviceRules(devices.nodes, DeviceMounts::kHosts))
    preparation.rules.push_back(std::move(rule));
  auto& layers = preparation.record.layers;
  if (policy_.network != Network::kAllow) {
    preparation.order.flags |= kOrderNoSockets;
    layers.Add(Layer::kNoSockets);
  }
  if (geteuid() == 0) layers.Add(Layer::kSecretsMasked);
  if (shown && IsAlone(policy_, shown->homes)) layers.Add(Layer::kPrivateHome);
  if (entered) layers.Add(LayerOf(*entered));
  WrittenPlaces& places = preparation.places;
  if (entered) {
    places.counted = ChangesIn(*entered);
  } else if (policy_.write_workspace) {
    places.counted.push_back(workspace.path);
  }
  if (!home.empty()) places.counted.push_back(home);
  for (const std::string& directory : policy_.write_dirs) {
    if (Exists(directory)) places.counted.push_back(RealPath(directory));
  }
  TRY(ApplyLimits(request.limits, shared.cgroups, false, &preparation));
  if (request.Is<SessionSandbox>()) preparation.order.flags |= kOrderSession;
  TRY(ApplyRequired(policy_.required, &preparation));
  plan.spawn.path = "/proc/self/fd/" + std::to_string(shared.launcher.get());
  plan.spawn.argv = {"native-runner-launcher"};
  if (entered) {
    TRY(CheckWriteDirs(*entered, policy_));
    TRY(CheckOwnHome(*entered, home));
    const int launcher = shared.launcher.get();
    TRY(EnterMounted(entered, workspace.directory.get(), launcher, &plan));
  }
  return preparation;
}

namespace {

// Before this version, files could not be renamed from one directory into another.
constexpr int kLeastLandlockAbi = 2;

// Refuses folders that have changed since the runner was made and checked them.
Result<std::vector<Workspace>> OpenFolders(const std::vector<std::string>& folders) {
  std::vector<Workspace> opened;
  for (const std::string& folder : folders) {
    auto workspace = OpenWorkspace(folder);
    if (!workspace || workspace->path != folder) {
      return Error{ErrorCode::kSetup, "the folder " + folder + " is no longer a directory",
                   "make the Bwrap anew, with folders that exist"};
    }
    opened.push_back(std::move(*workspace));
  }
  return opened;
}

}  // namespace

RunRecord ProjectBackend::Unprepared(const ExecRequest& request) const {
  const BubblewrapPlan plan = PlanProject(policy_, {}, -1, 0);
  RunRecord record = RecordOf(policy_.bwrap_path, TextOf(plan), plan.chdir, request);
  record.is_by_domain = policy_.network == Network::kByDomain;
  return record;
}

void ProjectBackend::Prepare(const ExecRequest& request, SupervisorContext& shared,
                             Ready ready) const {
  shared.programs->Get(policy_.bwrap_path, [this, &request, &shared, ready = std::move(ready)](
                                               Result<std::shared_ptr<const Program>> program) {
    if (!program) return ready(program.error());
    std::optional<std::vector<std::string>> home_mounts;
    if (!policy_.home.empty()) home_mounts = shared.mount_table.PointsBelow(policy_.home);
    PlanFromHost(
        request, shared,
        [this, program = std::move(*program), &shared, home_mounts = std::move(home_mounts)](
            const ExecRequest& asked, const HostView& view) {
          return Plan(asked, *program, shared, view, home_mounts);
        },
        ready);
  });
}

Result<Preparation> ProjectBackend::Plan(const ExecRequest& request, const Program& program,
                                         const SupervisorContext& shared, const HostView& view,
                                         const HomeMounts& home_mounts) const {
  if (!program.features.as_pid_1) {
    return LacksOption(program.path, "--as-pid-1");
  }
  TRY_ASSIGN(auto folders, OpenFolders(policy_.folders));
  TRY_ASSIGN(const auto mounted, MountedOf(transaction_));
  if (mounted && !folders.empty()) {
    // A bind by path could reach the host's own directory.
    if (!program.features.bind_fd) return LacksOption(program.path, "--bind-fd");
    TRY(TakeMounted(*mounted, program, &folders.front()));
  }
  std::vector<PlacedDirectory> places;
  for (const Workspace& folder : folders) {
    TRY_ASSIGN(const auto identity, IdentityOf(folder.directory.get()));
    places.push_back({folder.path, identity});
  }
  if (mounted && !folders.empty() && !mounted->copy.empty()) {
    places.push_back({mounted->path, mounted->below});
    folders.front().path = mounted->path;  // in the sandbox
  }
  TRY_ASSIGN(auto scene, LookAtProject(policy_, program.features, folders, view.host.FindSecrets(),
                                       home_mounts, request.Is<ExplainCall>()));

  Preparation preparation;
  SpawnPlan& spawns = preparation.plan.emplace<SpawnPlan>();
  spawns.own_pid_namespace = true;
  preparation.order.flags = kOrderNoNewPrivs | kOrderSeccomp | kOrderIsInit | kOrderNoCapabilities;
  const bool is_root = scene.facts.host.is_root;
  preparation.places.has_memory = true;
  if (mounted) preparation.places.counted = ChangesIn(*mounted);
  for (std::size_t i = mounted ? 1 : 0; i < folders.size(); ++i)
    preparation.places.counted.push_back(folders[i].path);
  TRY(ApplyLimits(request.limits, shared.cgroups, !is_root, &preparation));
  const LayerRecord limit_layers = std::move(preparation.record.layers);
  const bool size_tmp = program.features.size && request.limits.memory_bytes;
  // The mounts that keep links are the launcher's: a folder's descriptor leads past them.
  const bool binds_by_fd = program.features.bind_fd && scene.links.empty();
  const int first = binds_by_fd ? kFirstFolderDescriptor : -1;
  const std::uint64_t tmp_bytes = size_tmp ? *request.limits.memory_bytes : 0;
  BubblewrapPlan plan = PlanProject(policy_, scene.facts, first, tmp_bytes);
  if (policy_.network == Network::kByDomain && policy_.by_domain) {
    const std::size_t bound = binds_by_fd ? folders.size() : 0;
    TRY(FindNameFiles(*policy_.by_domain, plan.mounts,
                      kFirstFolderDescriptor + static_cast<int>(bound), &scene.facts.host));
    plan = PlanProject(policy_, scene.facts, first, tmp_bytes);
  }
  if (!scene.home.path.empty()) {
    const std::size_t bound = binds_by_fd ? folders.size() : 0;
    scene.facts.home_descriptor =
        kFirstFolderDescriptor + static_cast<int>(bound + scene.facts.host.name_files.size());
    TRY(OrderHome(scene.home, places, scene.facts.home_descriptor, shared.launcher.get(), &spawns));
    spawns.cache_bytes = tmp_bytes;
    plan = PlanProject(policy_, scene.facts, first, tmp_bytes);
  }
  const PlanText text = TextOf(plan);
  spawns.mounted = std::make_shared<const std::vector<std::string>>(PathsOf(PlanFingerprint(plan)));
  preparation.scene = std::make_shared<const DenialScene>(DenialScene{
      .wall = DenialScene::Wall::kProject, .mounts = plan.mounts, .network = policy_.network});
  preparation.record = RecordOf(policy_.bwrap_path, text, plan.chdir, request);
  auto& layers = preparation.record.layers;
  layers.Add(BubblewrapLayers(plan));
  for (const Layer layer :
       {Layer::kReadOnlyPaths, Layer::kNoNewPrivs, Layer::kSeccomp, Layer::kTreeKillPidNamespace}) {
    layers.Add(layer);
  }
  if (mounted) layers.Add(LayerOf(*mounted));
  layers.Add(limit_layers);
  if (request.limits.memory_bytes && !size_tmp) layers.Add(Layer::kTmpWithoutSize);

  if (LandlockAbi() >= kLeastLandlockAbi) {
    preparation.order.flags |= kOrderLandlock;
    preparation.rules = std::move(scene.rules);
  }
  if (mounted && mounted->copy.empty()) OrderRenames(mounted->path, &preparation);
  if (binds_by_fd) {
    int number = kFirstFolderDescriptor;
    for (Workspace& folder : folders)
      spawns.spawn.Give(std::move(folder.directory), number++);
  }
  TRY(GiveNameFiles(scene.facts.host.name_files, &spawns.spawn));
  spawns.links = std::move(scene.links);
  spawns.holds = std::make_shared<const ProjectScene>(std::move(scene));
  TRY(OrderSpawn(program, text, shared.launcher.get(), true, &spawns));
  TRY(OrderNetwork(policy_.network, policy_.by_domain, &preparation, &spawns));
  TRY(EnterMounted(mounted, program, shared.launcher.get(), &spawns));
  return preparation;
}

std::optional<Error> ProjectBackend::AttachOptions(SpawnPlan* plan) const {
  return AttachBubblewrapOptions(plan);
}

}  // namespace native_runner
