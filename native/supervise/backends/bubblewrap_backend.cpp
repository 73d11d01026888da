#include "supervise/backends/bubblewrap_backend.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "policy/options/devices.h"
#include "policy/options/validate.h"
#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/backends/launcher_backends.h"
#include "supervise/host/host.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/os/file_threads.h"
#include "supervise/project/homes.h"
#include "supervise/transaction/entry.h"
#include "supervise/transaction/mounted_workspace.h"

namespace native_runner {
namespace {

// Descriptor numbers for bwrap and the launcher; 3 is the control socket.
constexpr int kOptionsDescriptor = 4;

constexpr std::size_t kDefaultPipe = std::size_t{64} << 10U;  // pipe(7)

std::string JoinWithNul(const std::vector<std::string>& options) {
  std::size_t size = 0;
  for (const std::string& option : options)
    size += option.size() + 1;
  std::string joined;
  joined.reserve(size);
  for (const std::string& option : options) {
    joined += option;
    joined += '\0';
  }
  return joined;
}

// With /proc the sealed image itself is executed, and no mount shows it. Without /proc, bwrap makes
// a read-only file from it. It reads the image at the descriptor's offset, so each run needs a
// descriptor of its own.
std::optional<Error> HandOverLauncher(bool with_proc, int launcher, SpawnOptions* spawn) {
  const std::string image = "/proc/self/fd/" + std::to_string(launcher);
  if (with_proc) {
    spawn->argv.push_back("/proc/self/fd/" + std::to_string(kLauncherDescriptor));
    spawn->inherited.push_back({launcher, kLauncherDescriptor});
    return std::nullopt;
  }
  TRY_ASSIGN(auto copy, OpenPath(image.c_str(), O_RDONLY));
  spawn->argv.emplace_back(kLauncherFile);
  spawn->Give(std::move(copy), kLauncherDescriptor);
  return std::nullopt;
}

}  // namespace

PlanText TextOf(const BubblewrapPlan& plan) {
  BubblewrapPlan recorded = plan;
  std::erase_if(recorded.mounts, [](const Mount& mount) {
    // Neither the launcher nor a text has a host path to record.
    return mount.kind == Mount::Kind::kProgram || mount.kind == Mount::Kind::kText ||
           mount.kind == Mount::Kind::kFile;
  });
  for (Mount& mount : recorded.mounts)
    mount.descriptor = -1;  // the record names paths, not numbers
  return {JoinWithNul(BubblewrapOptions(plan)), BubblewrapOptions(recorded)};
}

RunRecord RecordOf(const std::string& bwrap_path, const PlanText& text, const std::string& cwd,
                   const ExecRequest& request) {
  RunRecord record;
  record.runtime = "bubblewrap";
  record.cmd = bwrap_path;
  record.argv.reserve(text.recorded.size() + 1 + request.argv.size());
  record.argv = text.recorded;
  record.argv.back() = cwd;  // the operand of --chdir, which is last
  record.argv.emplace_back("--");
  record.command_at = record.argv.size();
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  if (!request.cwd.empty()) record.cwd = request.cwd;
  return record;
}

std::optional<Error> OrderSpawn(const Program& program, const PlanText& text, int launcher,
                                bool with_proc, SpawnPlan* plan) {
  SpawnOptions& spawn = plan->spawn;
  spawn.path = program.exec_path();
  spawn.makes_mounts = plan->own_pid_namespace;  // strict isolation makes a mount namespace
  plan->shows_proc = with_proc;
  spawn.argv = {"bwrap", "--args", std::to_string(kOptionsDescriptor), "--"};
  plan->options = text.options;
  return HandOverLauncher(with_proc, launcher, &spawn);
}

std::optional<Error> GiveNameFiles(const std::vector<NameFile>& files, SpawnOptions* spawn) {
  for (const NameFile& file : files) {
    if (!file.link.empty()) continue;
    const std::string& text = file.trusted ? *file.trusted : file.text;
    TRY_ASSIGN(auto made, MemoryFile("names", text.data(), text.size(), false));
    spawn->Give(std::move(made), file.descriptor);
  }
  return std::nullopt;
}

std::optional<Error> OrderNetwork(Network network, std::shared_ptr<const NetworkPolicy> by_domain,
                                  Preparation* preparation, SpawnPlan* plan) {
  if (network != Network::kByDomain) return std::nullopt;
  if (!by_domain) return Error{ErrorCode::kSetup, "a network by domain has no rules", ""};
  plan->network = std::move(by_domain);
  preparation->record.is_by_domain = true;
  return OrderOwnNetwork(&preparation->order);
}

void OrderTemplate(const std::string& options, const std::vector<std::string>& steps,
                   Preparation* preparation) {
  preparation->order = {.flags = kOrderTemplate};
  preparation->cwd.clear();
  preparation->rules = steps;
  auto& plan = std::get<SpawnPlan>(preparation->plan);
  plan.options = options;
  plan.wants_cgroup = false;
}

// Uses a memory file, which is fastest. If bwrap must join a cgroup before it has children, a pipe
// that is filled later holds it back instead.
std::optional<Error> AttachBubblewrapOptions(SpawnPlan* plan) {
  std::string options = std::move(plan->options);
  if (!plan->wants_cgroup) {
    TRY_ASSIGN(auto file, MemoryFile("options", options.data(), options.size(), false));
    plan->spawn.Give(std::move(file), kOptionsDescriptor);
    return std::nullopt;
  }
  TRY_ASSIGN(auto pipe, MakePipe());
  if (options.size() > kDefaultPipe && fcntl(pipe.write.get(), F_SETPIPE_SZ, options.size()) < 0) {
    return SystemError("fcntl(F_SETPIPE_SZ) for bwrap's options", errno);
  }
  plan->spawn.Give(std::move(pipe.read), kOptionsDescriptor);
  plan->gate = {std::move(pipe.write), std::move(options)};
  return std::nullopt;
}

namespace {

// Removes the layers that the caller's options undo, and records those options.
void UndoLayers(const std::vector<std::string>& extra_args, Preparation* preparation) {
  auto& layers = preparation->record.layers;
  for (const ExtraArg& arg : ExtraArgs(extra_args)) {
    if (!arg.opens) continue;
    layers.Remove(arg.undone);
    if (arg.undone.Has(Layer::kNoCapabilities)) preparation->order.flags &= ~kOrderNoCapabilities;
    layers.AddOpened(arg.text);
  }
}

}  // namespace

std::optional<Error> TakeMounted(const MountedWorkspace& mounted, const Program& program,
                                 Workspace* workspace) {
  const bool is_copy = !mounted.copy.empty();
  if (!is_copy && !program.features.bind_fd) {
    Error error = LacksOption(program.path, "--bind-fd");
    error.message += ", which a transaction needs";
    return error;
  }
  TRY(CheckUnmoved(mounted, workspace->directory.get()));
  TRY_ASSIGN(auto root, DuplicateOf(mounted.root.get()));
  workspace->directory = std::move(root);
  workspace->path = is_copy ? mounted.copy : mounted.path;
  return std::nullopt;
}

namespace {

// Refuses writable mounts over the transaction's state: a command's writes there would be committed
// into the workspace.
std::optional<Error> CheckMounts(const MountedWorkspace& mounted,
                                 const std::vector<HostMount>& asked,
                                 const std::vector<OpenedMount>& opened) {
  for (std::size_t at = 0; at < opened.size(); ++at) {
    const std::string& path = opened[at].path;
    if (!asked[at].writable || !HoldsState(mounted, path)) continue;
    return Error{ErrorCode::kSetup,
                 "mounts[" + std::to_string(at) + "] would let commands write to " + mounted.state +
                     ", where the transaction is kept",
                 "keep transactions elsewhere (option `directory`), or mount it read-only"};
  }
  return std::nullopt;
}

// The same for a home on the host, which commands write to: it may be the transaction's own.
std::optional<Error> CheckHome(const MountedWorkspace& mounted, const HomeView& home) {
  if (home.directory.empty() || !HoldsState(mounted, home.directory) ||
      home.directory == JoinPath(mounted.state, kTransactionHome)) {
    return std::nullopt;
  }
  return Error{ErrorCode::kSetup,
               "the home " + home.directory + " would let commands write to " + mounted.state +
                   ", where the transaction is kept",
               "keep transactions elsewhere (option `directory`), or use another `home`"};
}

std::vector<MountPlace> PlacesOf(const std::vector<HostMount>& mounts,
                                 const std::vector<OpenedMount>& opened) {
  std::vector<MountPlace> places;
  for (std::size_t i = 0; i < opened.size(); ++i)
    places.push_back({NormalPath(mounts[i].guest_path), opened[i].is_directory});
  return places;
}

// Finds the name files, and those of an own root. Their descriptors follow those of the workspace
// and the policy's mounts, if these are bound by descriptor.
std::optional<Error> LookForFiles(const BubblewrapPolicy& policy, HostFacts* facts) {
  int next = facts->bwrap_bind_fd
                 ? kFirstFolderDescriptor + 1 + static_cast<int>(policy.mounts.size())
                 : kFirstFolderDescriptor;
  std::vector<Mount> mounts = PlanRoBinds(policy, *facts);
  if (!facts->root.empty()) {
    mounts.push_back({.kind = Mount::Kind::kReadOnlyBind, .source = facts->root, .target = "/"});
  }
  for (Mount& mount : PlanHostMounts(policy, *facts, -1).outside)
    mounts.push_back(std::move(mount));
  if (policy.network == Network::kByDomain && policy.by_domain) {
    TRY(FindNameFiles(*policy.by_domain, mounts, next, facts));
  }
  if (facts->root.empty()) return std::nullopt;
  next += static_cast<int>(facts->name_files.size());
  FindRootFiles(policy.network, mounts, next, facts);
  return std::nullopt;
}

// Returns the directory of an own root; empty if there is none. kSetup for an image that nobody has
// unpacked.
Result<std::string> RootDirectoryOf(const BubblewrapPolicy& policy, const HostFacts& facts) {
  if (policy.root_image.empty()) return policy.root_directory;
  if (facts.home && !facts.home->root.empty()) return facts.home->root;
  return Error{ErrorCode::kSetup, "the image of `root` is not unpacked", ""};
}

// Returns where the plan mounts something over an own root.
std::vector<RootPlace> PlacesOverRoot(const BubblewrapPolicy& policy, const HostFacts& facts,
                                      const std::vector<OpenedMount>& mounts) {
  using Type = RootPlace::Type;
  std::vector<RootPlace> places = {{.path = NormalPath(policy.tmp_path)},
                                   {.path = NormalPath(policy.proc_path)},
                                   {.path = NormalPath(policy.dev_path)},
                                   {.path = policy.workspace_path, .may_hide = true}};
  if (facts.home && !facts.home->path.empty()) {
    places.push_back({.path = NormalPath(facts.home->path), .may_hide = true});
    if (!facts.home->link.empty()) {
      places.push_back(
          {.path = NormalPath(facts.home->link), .type = Type::kLink, .may_hide = true});
    }
  }
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    places.push_back({.path = NormalPath(policy.mounts[i].guest_path),
                      .type = mounts[i].is_directory ? Type::kDirectory : Type::kFile});
  }
  for (const std::string& part : facts.device_parts)
    places.push_back({.path = part, .may_hide = true});
  for (const NameFile& file : facts.name_files) {
    places.push_back({.path = file.path, .type = file.link.empty() ? Type::kFile : Type::kLink});
  }
  if (!policy.with_proc) places.push_back({.path = kLauncherFile, .type = Type::kFile});
  return places;
}

// Refuses a root that commands could change by another path.
std::optional<Error> CheckUnwritable(const std::string& root, const std::string& written,
                                     const std::string& what) {
  if (written.empty() || (!PathCovers(root, written) && !PathCovers(written, root))) {
    return std::nullopt;
  }
  return Error{ErrorCode::kSetup,
               "root names " + QuotedShort(root) + ", which commands could write to by " + what +
                   " " + QuotedShort(written),
               "keep the root file system apart from what commands may write"};
}

std::shared_ptr<const DenialScene> SceneOf(const BubblewrapPolicy& policy,
                                           const BubblewrapPlan& plan, const HomeView* home,
                                           const HostFacts& facts, const std::string& workspace) {
  DenialScene scene{.wall = DenialScene::Wall::kBubblewrap,
                    .mounts = plan.mounts,
                    .workspace_path = policy.workspace_path,
                    .workspace = workspace,
                    .home = home == nullptr ? "" : home->directory,
                    .root = facts.root,
                    .hidden = home == nullptr ? std::vector<HiddenTools>() : home->hidden,
                    .may_write_workspace = policy.write_workspace,
                    .network = policy.network};
  if (policy.with_landlock) scene.rules = LandlockRulesInside(policy, home, facts.devices);
  return std::make_shared<const DenialScene>(std::move(scene));
}

// Adds the parts of a network by domain that a prewarmed sandbox has besides its mounts: listeners
// for its rules, its asker, and texts.
void AddNetwork(const NetworkPolicy& network, const std::vector<NameFile>& files,
                FingerprintPlan* plan) {
  plan->options += NetworkPolicyText(network);
  plan->asker = network.asker;
  plan->options += '\0';
  if (network.termination) plan->options += std::to_string(network.termination->number);
  for (const NameFile& file : files) {
    plan->options += file.text;
    plan->options += '\0';
  }
}

}  // namespace

RunRecord BubblewrapBackend::Unprepared(const ExecRequest& request) const {
  const auto relative = WorkspaceRelative(request.cwd, "");
  const std::string& workspace = policy_.workspace_path;
  const std::string cwd = relative ? JoinPath(workspace, relative.value()) : workspace;
  RunRecord record =
      RecordOf(policy_.bwrap_path, TextOf(PlanPureBubblewrap(policy_, workspace)), cwd, request);
  record.is_by_domain = policy_.network == Network::kByDomain;
  return record;
}

void BubblewrapBackend::Prepare(const ExecRequest& request, SupervisorContext& shared,
                                Ready ready) const {
  shared.programs->Get(policy_.bwrap_path, [this, &request, &shared, ready = std::move(ready)](
                                               Result<std::shared_ptr<const Program>> program) {
    if (!program) return ready(program.error());
    PlanFromHost(
        request, shared,
        [this, program = std::move(*program), &shared](const ExecRequest& asked,
                                                       const HostView& view) {
          return Plan(asked, *program, shared, view);
        },
        ready);
  });
}

const BubblewrapBackend::CachedPlan& BubblewrapBackend::PlanFor(HostFacts facts,
                                                                const std::string& workspace,
                                                                std::uint64_t tmp_bytes) const {
  if (cached_ && cached_->facts == facts && cached_->workspace == workspace &&
      cached_->tmp_bytes == tmp_bytes) {
    return *cached_;
  }
  CachedPlan made;
  const BubblewrapPlan plan =
      PlanBubblewrap(policy_, facts, workspace, facts.bwrap_bind_fd ? kFirstFolderDescriptor : -1,
                     policy_.workspace_path, tmp_bytes, kLauncherDescriptor);
  made.text = TextOf(plan);
  made.layers = BubblewrapLayers(plan);
  made.scene = SceneOf(policy_, plan, facts.home.get(), facts, workspace);
  made.places = FindMountPoints(plan, policy_.workspace_path);
  made.fingerprint = PlanFingerprint(plan);
  if (policy_.by_domain) AddNetwork(*policy_.by_domain, facts.name_files, &made.fingerprint);
  made.mount_points =
      std::make_shared<const std::vector<std::string>>(MountPointsOf(made.fingerprint));
  made.mounted = std::make_shared<const std::vector<std::string>>(PathsOf(made.fingerprint));
  AddTemplatePlan(plan, &made);
  made.facts = std::move(facts);
  made.workspace = workspace;
  made.tmp_bytes = tmp_bytes;
  return cached_.emplace(std::move(made));
}

void BubblewrapBackend::AddTemplatePlan(const BubblewrapPlan& plan, CachedPlan* cached) const {
  CloneFacts facts{geteuid(), getegid(), {}};
  if (policy_.by_domain) facts.network_steps = NetworkSteps(policy_.by_domain->rules, false);
  auto made = PlanTemplate(plan, facts);
  if (!made) {
    cached->cold_reason = made.error().message;
    return;
  }
  cached->template_options = TextOf(made->plan).options;
  cached->template_steps = std::move(made->steps);
}

// A mount point that must be made in the workspace rules out a template: it would be visible there
// for the whole lifetime of the template.
std::string BubblewrapBackend::ColdReason(const CachedPlan& cached, const Program& program,
                                          bool makes_places) const {
  if (!program.features.bind_fd) return "this bwrap has no --bind-fd";
  if (!CanBePrewarmed(policy_)) return "isolation is not strict, or there are extraArgs";
  if (makes_places) return "a place for one of its mounts has to be made in the workspace";
  return cached.cold_reason;
}

std::optional<Error> BubblewrapBackend::CheckFeatures(const ExecRequest& request,
                                                      const Program& program) const {
  if (policy_.isolation == Isolation::kStrict && !program.features.as_pid_1) {
    return LacksOption(program.path, "--as-pid-1");
  }
  if (!policy_.with_proc && !program.features.perms) {
    Error error = LacksOption(program.path, "--perms");
    error.message += ", which procBind: false needs";
    error.fix += ", or leave procBind at its default";
    return error;
  }
  // Without this option a run only records a layer (kTmpWithoutSize); a session requested its size
  // explicitly.
  if (request.Is<SessionSandbox>() && request.limits.memory_bytes && !program.features.size) {
    Error error = LacksOption(program.path, "--size");
    error.message += ", which tmpBytes needs";
    error.fix += ", or leave tmpBytes out";
    return error;
  }
  return std::nullopt;
}

// Takes the view that the request's variables fit, or the current one for a sandbox that is made
// without a request.
std::optional<Error> BubblewrapBackend::TakeHome(const ExecRequest& request,
                                                 HostFacts* facts) const {
  facts->home = request.home || !policy_.shown ? request.home : policy_.shown->view();
  if (!facts->home) return std::nullopt;
  if (!facts->home->caches.empty() && !facts->bwrap_bind_fd) {
    Error error = LacksOption(policy_.bwrap_path, "--bind-fd");
    error.message += ", which `caches` needs";
    error.fix += ", or leave caches out";
    return error;
  }
  if (!facts->home->failure.empty()) {
    return Error{ErrorCode::kSetup, facts->home->failure, facts->home->fix};
  }
  return std::nullopt;
}

// Finds what the plan has besides the policy's mounts, in the order of its descriptors: texts, the
// home's, its caches, the entries of an own root.
std::optional<Error> BubblewrapBackend::LookInside(const Workspace& workspace,
                                                   const std::vector<OpenedMount>& mounts,
                                                   HostFacts* facts, OpenedRoot* root) const {
  TRY_ASSIGN(const std::string directory, RootDirectoryOf(policy_, *facts));
  if (!directory.empty()) {
    NotePath(directory);
    facts->root = RealPath(directory);  // OpenRoot tells what is wrong with it
  }
  TRY(LookForFiles(policy_, facts));
  const std::size_t bound = facts->bwrap_bind_fd ? 1 + policy_.mounts.size() : 0;
  int next = kFirstFolderDescriptor + static_cast<int>(bound + facts->name_files.size());
  if (facts->home) {
    facts->git_config_descriptor = next++;
    facts->cache_descriptor = next;
    next += static_cast<int>(facts->home->caches.size());
  }
  if (directory.empty()) return std::nullopt;
  if (!facts->bwrap_bind_fd) {
    Error error = LacksOption(policy_.bwrap_path, "--bind-fd");
    error.message += ", which `root` needs";
    error.fix += ", or leave root out";
    return error;
  }
  TRY_ASSIGN(*root, OpenRoot(directory, PlacesOverRoot(policy_, *facts, mounts), next));
  TRY(CheckUnwritable(root->path, workspace.path, "the workspace"));
  if (facts->home) TRY(CheckUnwritable(root->path, facts->home->directory, "the home"));
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (!policy_.mounts[i].writable) continue;
    TRY(CheckUnwritable(root->path, mounts[i].path, "mounts[" + std::to_string(i) + "],"));
  }
  facts->root = root->path;
  facts->root_mounts = root->mounts;
  return std::nullopt;
}

Result<BubblewrapBackend::HostParts> BubblewrapBackend::OpenHostParts(const ExecRequest& request,
                                                                      const Program& program,
                                                                      const HostView& view,
                                                                      int launcher) const {
  TRY_ASSIGN(auto cwd, WorkspaceRelative(request.cwd, "NativeRunner.exec"));
  TRY_ASSIGN(auto workspace, OpenWorkspace(policy_.shadow_dir));
  std::shared_ptr<const MountedWorkspace> mounted;
  if (transaction_) {
    mounted = transaction_->Enter();
    if (!mounted)
      return Error{ErrorCode::kClosed, "the transaction was closed", "open another one"};
    TRY(TakeMounted(*mounted, program, &workspace));
  }
  TRY_ASSIGN(auto facts, view.host.Look(policy_, program.features));
  TRY_ASSIGN(auto mounts, OpenHostMounts(policy_.mounts));
  TRY_ASSIGN(auto devices, OpenDevices(policy_.devices));
  if (mounted) {
    TRY(CheckMounts(*mounted, policy_.mounts, mounts));
  }
  for (const OpenedMount& mount : mounts)
    facts.mounts.push_back(mount.path);
  // The sandbox's own /dev has these already.
  if (policy_.with_dev) {
    std::erase_if(devices.nodes, [](const OpenedDevice& device) { return IsOwnNode(device.path); });
  }
  for (const OpenedDevice& device : devices.nodes)
    facts.devices.push_back({.target = device.real_path, .path = device.path});
  facts.device_parts = std::move(devices.parts);
  TRY(TakeHome(request, &facts));
  OpenedRoot root;
  TRY(LookInside(workspace, mounts, &facts, &root));
  if (mounted && facts.home) {
    TRY(CheckHome(*mounted, *facts.home));
  }
  auto caches = mounted;
  const HomeView* const home = facts.home.get();
  const bool keeps_caches = home != nullptr && !home->caches.empty() && !home->kept_caches.empty();
  if (!mounted && keeps_caches && !request.Is<ExplainCall>()) {
    const std::string path = "/proc/self/fd/" + std::to_string(launcher);
    TRY_ASSIGN(caches, ShareHomeCaches(path, home->kept_caches, home->caches));
  }
  const bool forgets_caches = keeps_caches && caches == nullptr;
  return HostParts{.cwd = std::move(cwd),
                   .workspace = std::move(workspace),
                   .mounted = std::move(mounted),
                   .caches = std::move(caches),
                   .forgets_caches = forgets_caches,
                   .mounts = std::move(mounts),
                   .devices = std::move(devices.nodes),
                   .root = std::move(root.files),
                   .facts = std::move(facts)};
}

// Adds the plan's layers and those of `limits`, in the order in which audits list them.
void BubblewrapBackend::RecordRun(const ExecRequest& request, const CachedPlan& cached,
                                  const HostParts& host, const LayerRecord& limits,
                                  Preparation* preparation) const {
  const bool strict = policy_.isolation == Isolation::kStrict;
  preparation->scene = cached.scene;
  preparation->record = RecordOf(policy_.bwrap_path, cached.text,
                                 JoinPath(policy_.workspace_path, host.cwd), request);
  auto& layers = preparation->record.layers;
  layers.Add(cached.layers);
  layers.Add(Layer::kNoNewPrivs);
  layers.Add(Layer::kSeccomp);
  layers.Add(strict ? Layer::kTreeKillPidNamespace : Layer::kTreeKillSubreaper);
  if (host.mounted) layers.Add(LayerOf(*host.mounted));
  layers.Add(limits);
  UndoLayers(policy_.extra_args, preparation);
}

std::optional<Error> BubblewrapBackend::OrderConfinement(const ExecRequest& request,
                                                         const HostParts& host,
                                                         const CachedPlan& cached,
                                                         Preparation* preparation) const {
  const HomeView* const home = cached.facts.home.get();
  OrderHeader& order = preparation->order;
  // The launcher enters `cwd`. bwrap, which may be started before it is known, stays at the root.
  if (!host.cwd.empty()) preparation->cwd = JoinPath(policy_.workspace_path, host.cwd);
  if (policy_.with_landlock) {
    if (LandlockAbi() == 0) return NoLandlock();
    order.flags |= kOrderLandlock | kOrderScoped;
    order.required.Add(Layer::kLandlockFiles);
    preparation->rules = LandlockRulesInside(policy_, home, cached.facts.devices);
  }
  if (!host.devices.empty()) {
    order.flags |= kOrderCheckFiles;
    for (std::string& rule : DeviceRules(host.devices, DeviceMounts::kOwn))
      preparation->rules.push_back(std::move(rule));
  }
  if (NamesThreads(policy_.devices)) order.flags |= kOrderThreadNames;
  if (host.mounted && host.mounted->copy.empty()) OrderRenames(policy_.workspace_path, preparation);
  if (request.Is<SessionSandbox>()) order.flags |= kOrderSession;
  return ApplyRequired(policy_.required, preparation);
}

// Decides whether a prewarmed sandbox or a clone may take the place of the plan's.
void BubblewrapBackend::AllowReuse(const ExecRequest& request, const CachedPlan& cached,
                                   const HostParts& host, const Program& program,
                                   const std::string& cold_reason, const HostView& view,
                                   SpawnPlan* plan) const {
  const bool can_wait = CanBePrewarmed(policy_) && program.features.bind_fd;
  plan->allow_prewarmed = request.allow_prewarmed && can_wait && !plan->wants_cgroup &&
                          !host.forgets_caches;  // later ones may keep them
  plan->clones_of = cold_reason.empty() ? request.clones_of : 0;
  if (request.clones_of != 0) plan->cold_reason = cold_reason;
  if (!plan->allow_prewarmed && plan->clones_of == 0 && !request.Is<TemplateSandbox>()) return;
  std::vector<int> bound = {host.workspace.directory.get()};
  for (const OpenedDevice& device : host.devices)
    bound.push_back(device.file.get());
  for (const OpenedMount& mount : host.mounts)
    bound.push_back(mount.file.get());
  for (const Descriptor& entry : host.root)
    bound.push_back(entry.get());
  plan->fingerprint = FingerprintOf(cached.fingerprint, bound, view.state);
  if (plan->fingerprint.valid()) return;
  plan->allow_prewarmed = false;
  plan->clones_of = 0;
}

namespace {

const MountedCache* FindCache(const MountedWorkspace& mounted, const std::string& source) {
  for (const MountedCache& cache : mounted.caches) {
    if (cache.source == source) return &cache;
  }
  return nullptr;
}

Error NoSharedCache(const std::string& source) {
  return Error{ErrorCode::kSetup, "the transaction does not show the cache " + source,
               "open it with a runner whose `caches` has it"};
}

}  // namespace

// Commands of a transaction, or of a kept home, share its overlays. Else the launcher makes an
// overlay over each cache and puts its root at the number. Until then the number is no directory,
// so that bwrap can't bind the host's cache itself.
std::optional<Error> BubblewrapBackend::GiveCaches(const HostFacts& facts,
                                                   const MountedWorkspace* shared, int launcher,
                                                   SpawnPlan* plan) const {
  if (!facts.home) return std::nullopt;
  int number = facts.cache_descriptor;
  for (const ShownCache& cache : facts.home->caches) {
    if (shared != nullptr) {
      const MountedCache* const mounted = FindCache(*shared, cache.source);
      if (mounted == nullptr) return NoSharedCache(cache.source);
      plan->spawn.inherited.push_back({mounted->root.get(), number++});
      continue;
    }
    TRY_ASSIGN(const std::string named, NamedDirectory(cache.source));
    std::string step = kStepCache + std::to_string(number) + ":" + named;
    for (const std::string& name : cache.hidden)
      step += '\n' + name;
    plan->caches.push_back(std::move(step));
    plan->spawn.inherited.push_back({launcher, number++});
  }
  return std::nullopt;
}

// Hands over the directories and files that the plan binds by descriptor, and bwrap itself.
std::optional<Error> BubblewrapBackend::GiveDescriptors(const CachedPlan& cached, HostParts host,
                                                        const Program& program, int launcher,
                                                        SpawnPlan* plan) const {
  if (program.features.bind_fd) {
    int number = kFirstFolderDescriptor;
    plan->spawn.Give(std::move(host.workspace.directory), number++);
    for (OpenedMount& mount : host.mounts)
      plan->spawn.Give(std::move(mount.file), number++);
  }
  TRY(GiveNameFiles(cached.facts.name_files, &plan->spawn));
  if (cached.facts.home && !cached.facts.home->git_config.empty()) {
    const std::string& text = cached.facts.home->git_config;
    TRY_ASSIGN(auto made, MemoryFile("gitconfig", text.data(), text.size(), false));
    plan->spawn.Give(std::move(made), cached.facts.git_config_descriptor);
  }
  TRY(GiveCaches(cached.facts, host.caches.get(), launcher, plan));
  auto file = host.root.begin();
  for (const Mount& mount : cached.facts.root_mounts) {
    if (mount.kind == Mount::Kind::kReadOnlyBind)
      plan->spawn.Give(std::move(*file++), mount.descriptor);
  }
  plan->cache_bytes = cached.tmp_bytes;
  return OrderSpawn(program, cached.text, launcher, policy_.with_proc, plan);
}

WrittenPlaces BubblewrapBackend::PlacesWritten(const HostParts& host) const {
  WrittenPlaces places;
  places.has_memory = true;
  if (host.mounted) {
    places.counted = ChangesIn(*host.mounted);
  } else if (policy_.write_workspace) {
    places.counted.push_back(host.workspace.path);
  }
  if (const HomeView* const home = host.facts.home.get()) {
    if (!home->directory.empty()) places.counted.push_back(home->directory);
    if (host.caches && !host.mounted) places.counted.push_back(home->kept_caches);
    if (!host.caches && !home->caches.empty())
      places.memory_overlay = JoinPath(home->path, home->caches.front().target);
  }
  for (std::size_t i = 0; i < host.mounts.size(); ++i) {
    if (policy_.mounts[i].writable) places.watched.push_back(host.mounts[i].path);
  }
  return places;
}

Result<Preparation> BubblewrapBackend::Plan(const ExecRequest& request, const Program& program,
                                            const SupervisorContext& shared,
                                            const HostView& view) const {
  TRY(CheckFeatures(request, program));
  const int launcher = shared.launcher.get();
  TRY_ASSIGN(auto host, OpenHostParts(request, program, view, launcher));

  const bool strict = policy_.isolation == Isolation::kStrict;
  Preparation preparation;
  SpawnPlan& plan = preparation.plan.emplace<SpawnPlan>();
  plan.own_pid_namespace = strict;
  plan.workspace = policy_.workspace_path;
  preparation.order.flags = kOrderNoNewPrivs | kOrderSeccomp;
  if (strict) preparation.order.flags |= kOrderIsInit | kOrderNoCapabilities;
  preparation.places = PlacesWritten(host);
  TRY(ApplyLimits(request.limits, shared.cgroups, strict && !host.facts.is_root, &preparation));
  LayerRecord limits = std::move(preparation.record.layers);
  if (request.limits.memory_bytes && !(strict && program.features.size)) {
    limits.Add(Layer::kTmpWithoutSize);
  }

  const bool sizes_tmp = program.features.size && request.limits.memory_bytes;
  const CachedPlan& cached = PlanFor(std::move(host.facts), host.workspace.path,
                                     sizes_tmp ? *request.limits.memory_bytes : 0);
  const HomeView* home = cached.facts.home.get();
  if (home != nullptr && !home->directory.empty() && !request.Is<ExplainCall>()) {
    TRY(MakeHomePlaces(*home, PlacesOf(policy_.mounts, host.mounts)));
  }
  TRY_ASSIGN(auto places, HoldMountPoints(cached.places, policy_.mounts, host.mounts,
                                          host.workspace, request.Is<ExplainCall>()));
  if (!places.empty()) {
    plan.holds = std::make_shared<const std::vector<Placeholder>>(std::move(places));
  }
  plan.mount_points = cached.mount_points;
  plan.mounted = cached.mounted;
  RecordRun(request, cached, host, limits, &preparation);
  TRY(OrderConfinement(request, host, cached, &preparation));

  for (const OpenedDevice& device : host.devices) {
    if (device.is_ours) plan.guarded_nodes.push_back(device.real_path);
  }
  const std::string cold_reason = ColdReason(cached, program, plan.holds != nullptr);
  AllowReuse(request, cached, host, program, cold_reason, view, &plan);
  const auto entered = host.caches;
  TRY(GiveDescriptors(cached, std::move(host), program, launcher, &plan));
  if (request.Is<TemplateSandbox>()) {
    if (!cold_reason.empty()) return Error{ErrorCode::kUnavailable, cold_reason, ""};
    if (!plan.fingerprint.valid()) return Error{ErrorCode::kUnavailable, "/proc can't be read", ""};
    OrderTemplate(cached.template_options, cached.template_steps, &preparation);
  } else if (auto error = OrderNetwork(policy_.network, policy_.by_domain, &preparation, &plan)) {
    return *error;
  }
  TRY(EnterMounted(entered, program, launcher, &plan));
  return preparation;
}

std::optional<Error> BubblewrapBackend::AttachOptions(SpawnPlan* plan) const {
  return AttachBubblewrapOptions(plan);
}

}  // namespace native_runner
