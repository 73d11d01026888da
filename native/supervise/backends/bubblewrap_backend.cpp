#include "supervise/backends/bubblewrap_backend.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "policy/options/extra_args.h"
#include "policy/text/path.h"
#include "supervise/backends/launcher_backends.h"
#include "supervise/host/host.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/project/mount_points.h"
#include "supervise/transaction/entry.h"

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
  auto copy = OpenPath(image.c_str(), O_RDONLY);
  if (!copy) return copy.error();
  spawn->argv.emplace_back(kLauncherFile);
  spawn->Give(std::move(*copy), kLauncherDescriptor);
  return std::nullopt;
}

}  // namespace

PlanText TextOf(const BubblewrapPlan& plan) {
  BubblewrapPlan recorded = plan;
  std::erase_if(recorded.mounts, [](const Mount& mount) {
    // Neither the launcher nor a text has a host path to record.
    return mount.kind == Mount::Kind::kProgram || mount.kind == Mount::Kind::kText;
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
    auto made = MemoryFile("names", file.text.data(), file.text.size(), false);
    if (!made) return made.error();
    spawn->Give(std::move(*made), file.descriptor);
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
    auto file = MemoryFile("options", options.data(), options.size(), false);
    if (!file) return file.error();
    plan->spawn.Give(std::move(*file), kOptionsDescriptor);
    return std::nullopt;
  }
  auto pipe = MakePipe();
  if (!pipe) return pipe.error();
  if (options.size() > kDefaultPipe && fcntl(pipe->write.get(), F_SETPIPE_SZ, options.size()) < 0) {
    return SystemError("fcntl(F_SETPIPE_SZ) for bwrap's options", errno);
  }
  plan->spawn.Give(std::move(pipe->read), kOptionsDescriptor);
  plan->gate = {std::move(pipe->write), std::move(options)};
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

std::optional<Error> TakeMounted(const MountedWorkspace& kept, const Program& program,
                                 Workspace* workspace) {
  const bool is_copy = !kept.copy.empty();
  if (!is_copy && !program.features.bind_fd) {
    Error error = LacksOption(program.path, "--bind-fd");
    error.message += ", which a transaction needs";
    return error;
  }
  if (auto error = CheckUnmoved(kept, workspace->directory.get())) return error;
  auto root = DuplicateOf(kept.root.get());
  if (!root) return root.error();
  workspace->directory = std::move(*root);
  workspace->path = is_copy ? kept.copy : kept.path;
  return std::nullopt;
}

namespace {

// Refuses writable mounts over the transaction's state: a command's writes there would be committed
// into the workspace.
std::optional<Error> CheckMounts(const MountedWorkspace& kept, const std::vector<HostMount>& asked,
                                 const std::vector<OpenedMount>& opened) {
  for (std::size_t at = 0; at < opened.size(); ++at) {
    const std::string& path = opened[at].path;
    if (!asked[at].writable || !HoldsState(kept, path)) continue;
    return Error{ErrorCode::kSetup,
                 "mounts[" + std::to_string(at) + "] would let commands write to " + kept.state +
                     ", where the transaction is kept",
                 "keep transactions elsewhere (option `directory`), or mount it read-only"};
  }
  return std::nullopt;
}

// Finds the name files. Their descriptors follow those of the workspace and the policy's mounts, if
// these are bound by descriptor.
void LookForNames(const BubblewrapPolicy& policy, HostFacts* facts) {
  const int first = facts->bwrap_bind_fd
                        ? kFirstFolderDescriptor + 1 + static_cast<int>(policy.mounts.size())
                        : kFirstFolderDescriptor;
  std::vector<Mount> mounts = PlanRoBinds(policy, *facts);
  for (Mount& mount : PlanHostMounts(policy, *facts, -1).outside)
    mounts.push_back(std::move(mount));
  FindNameFiles(policy.by_domain->rules, mounts, first, facts);
}

std::shared_ptr<const DenialScene> SceneOf(const BubblewrapPolicy& policy,
                                           const BubblewrapPlan& plan,
                                           const std::string& workspace) {
  DenialScene scene{.wall = DenialScene::Wall::kBubblewrap,
                    .mounts = plan.mounts,
                    .workspace = workspace,
                    .may_write_workspace = policy.write_workspace,
                    .network = policy.network};
  if (policy.with_landlock) scene.rules = LandlockRulesInside(policy);
  return std::make_shared<const DenialScene>(std::move(scene));
}

// Adds the parts of a network by domain that a prewarmed sandbox has besides its mounts: listeners
// for its rules, its asker, and texts.
void AddNetwork(const NetworkPolicy& network, const std::vector<NameFile>& files,
                FingerprintPlan* plan) {
  plan->options += NetworkRulesText(network.rules);
  plan->asker = network.asker;
  plan->options += '\0';
  for (const NameFile& file : files) {
    plan->options += file.text;
    plan->options += '\0';
  }
}

}  // namespace

RunRecord BubblewrapBackend::Unprepared(const ExecRequest& request) const {
  const auto relative = WorkspaceRelative(request.cwd, "");
  const std::string cwd = relative ? JoinPath(kWorkspace, relative.value()) : kWorkspace;
  RunRecord record =
      RecordOf(policy_.bwrap_path, TextOf(PlanPureBubblewrap(policy_, kWorkspace)), cwd, request);
  record.is_by_domain = policy_.network == Network::kByDomain;
  return record;
}

void BubblewrapBackend::Prepare(const ExecRequest& request, SupervisorContext& shared,
                                Ready ready) const {
  shared.programs->Get(policy_.bwrap_path, [this, &request, &shared, ready = std::move(ready)](
                                               Result<std::shared_ptr<const Program>> program) {
    ready(program ? Plan(request, **program, shared) : Result<Preparation>(program.error()));
  });
}

const BubblewrapBackend::CachedPlan& BubblewrapBackend::PlanFor(HostFacts facts,
                                                                const std::string& workspace,
                                                                std::uint64_t tmp_bytes) const {
  if (drawing_ && drawing_->facts == facts && drawing_->workspace == workspace &&
      drawing_->tmp_bytes == tmp_bytes) {
    return *drawing_;
  }
  CachedPlan made;
  const BubblewrapPlan plan =
      PlanBubblewrap(policy_, facts, workspace, facts.bwrap_bind_fd ? kFirstFolderDescriptor : -1,
                     kWorkspace, tmp_bytes, kLauncherDescriptor);
  made.text = TextOf(plan);
  made.layers = BubblewrapLayers(plan);
  made.scene = SceneOf(policy_, plan, workspace);
  made.places = FindMountPoints(plan);
  made.fingerprint = PlanFingerprint(plan);
  if (policy_.by_domain) AddNetwork(*policy_.by_domain, facts.name_files, &made.fingerprint);
  made.mount_points =
      std::make_shared<const std::vector<std::string>>(MountPointsOf(made.fingerprint));
  made.mounted = std::make_shared<const std::vector<std::string>>(PathsOf(made.fingerprint));
  AddTemplatePlan(plan, &made);
  made.facts = std::move(facts);
  made.workspace = workspace;
  made.tmp_bytes = tmp_bytes;
  return drawing_.emplace(std::move(made));
}

void BubblewrapBackend::AddTemplatePlan(const BubblewrapPlan& plan, CachedPlan* drawing) const {
  CloneFacts facts{geteuid(), getegid(), {}};
  if (policy_.by_domain) facts.network_steps = NetworkSteps(policy_.by_domain->rules, false);
  auto made = PlanTemplate(plan, facts);
  if (!made) {
    drawing->cold_reason = made.error().message;
    return;
  }
  drawing->template_options = TextOf(made->plan).options;
  drawing->template_steps = std::move(made->steps);
}

// A mount point that must be made in the workspace rules out a template: it would be visible there
// for the whole lifetime of the template.
std::string BubblewrapBackend::ColdReason(const CachedPlan& drawing, const Program& program,
                                          bool makes_places) const {
  if (!program.features.bind_fd) return "this bwrap has no --bind-fd";
  if (!CanBePrewarmed(policy_)) return "isolation is not strict, or there are extraArgs";
  if (makes_places) return "a place for one of its mounts has to be made in the workspace";
  return drawing.cold_reason;
}

Result<Preparation> BubblewrapBackend::Plan(const ExecRequest& request, const Program& program,
                                            SupervisorContext& shared) const {
  const bool strict = policy_.isolation == Isolation::kStrict;
  if (strict && !program.features.as_pid_1) {
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
  auto relative = WorkspaceRelative(request.cwd, "NativeRunner.exec");
  if (!relative) return relative.error();
  auto workspace = OpenWorkspace(policy_.shadow_dir);
  if (!workspace) return workspace.error();
  std::shared_ptr<const MountedWorkspace> kept;
  if (transaction_) {
    kept = transaction_->Enter();
    if (!kept) return Error{ErrorCode::kClosed, "the transaction was closed", "open another one"};
    if (auto error = TakeMounted(*kept, program, &*workspace)) return *error;
  }
  auto facts = shared.host.Look(policy_, program.features);
  if (!facts) return facts.error();
  auto mounts = OpenHostMounts(policy_.mounts);
  if (!mounts) return mounts.error();
  if (kept) {
    if (auto error = CheckMounts(*kept, policy_.mounts, *mounts)) return *error;
  }
  for (const OpenedMount& mount : *mounts)
    facts->mounts.push_back(mount.path);
  if (policy_.network == Network::kByDomain && policy_.by_domain) LookForNames(policy_, &*facts);
  const bool is_root = facts->is_root;

  Preparation preparation;
  SpawnPlan& plan = preparation.plan.emplace<SpawnPlan>();
  plan.own_pid_namespace = strict;
  preparation.order.flags = kOrderNoNewPrivs | kOrderSeccomp;
  if (strict) preparation.order.flags |= kOrderIsInit | kOrderNoCapabilities;
  const auto limited =
      ApplyLimits(request.limits, shared.cgroups, strict && !is_root, &preparation);
  if (limited) return *limited;
  const LayerRecord limit_layers = std::move(preparation.record.layers);

  const bool size_tmp = program.features.size && request.limits.memory_bytes;
  const CachedPlan& drawing =
      PlanFor(std::move(*facts), workspace->path, size_tmp ? *request.limits.memory_bytes : 0);
  auto held = HoldMountPoints(drawing.places, policy_.mounts, *mounts, *workspace,
                              request.Is<ExplainCall>());
  if (!held) return held.error();
  if (!held->empty()) {
    plan.holds = std::make_shared<const std::vector<Placeholder>>(std::move(*held));
  }
  preparation.scene = drawing.scene;
  plan.workspace = kWorkspace;
  plan.mount_points = drawing.mount_points;
  plan.mounted = drawing.mounted;
  // The launcher enters `cwd`. bwrap, which may be started before it is known, stays at the root.
  if (!relative->empty()) preparation.cwd = JoinPath(kWorkspace, *relative);
  preparation.record =
      RecordOf(policy_.bwrap_path, drawing.text, JoinPath(kWorkspace, *relative), request);
  auto& layers = preparation.record.layers;
  layers.Add(drawing.layers);
  layers.Add(Layer::kNoNewPrivs);
  layers.Add(Layer::kSeccomp);
  layers.Add(strict ? Layer::kTreeKillPidNamespace : Layer::kTreeKillSubreaper);
  if (kept) layers.Add(LayerOf(*kept));
  layers.Add(limit_layers);
  if (request.limits.memory_bytes && !(strict && size_tmp)) {
    layers.Add(Layer::kTmpWithoutSize);
  }
  UndoLayers(policy_.extra_args, &preparation);
  if (policy_.with_landlock) {
    if (LandlockAbi() == 0) return NoLandlock();
    preparation.order.flags |= kOrderLandlock | kOrderScoped;
    preparation.order.required.Add(Layer::kLandlockFiles);
    preparation.rules = LandlockRulesInside(policy_);
  }
  if (kept && kept->copy.empty()) OrderRenames(kWorkspace, &preparation);
  if (request.Is<SessionSandbox>()) preparation.order.flags |= kOrderSession;
  if (auto error = ApplyRequired(policy_.required, &preparation)) return *error;

  const bool can_stand = CanBePrewarmed(policy_) && program.features.bind_fd;
  plan.allow_prewarmed = request.allow_prewarmed && can_stand && !plan.wants_cgroup;
  const std::string cold_reason = ColdReason(drawing, program, plan.holds != nullptr);
  plan.clones_of = cold_reason.empty() ? request.clones_of : 0;
  if (request.clones_of != 0) plan.cold_reason = cold_reason;
  if (plan.allow_prewarmed || plan.clones_of != 0 || request.Is<TemplateSandbox>()) {
    std::vector<int> bound = {workspace->directory.get()};
    for (const OpenedMount& mount : *mounts)
      bound.push_back(mount.file.get());
    plan.fingerprint = FingerprintOf(drawing.fingerprint, bound, &shared.host_watch);
    plan.allow_prewarmed = plan.allow_prewarmed && plan.fingerprint.valid();
    if (!plan.fingerprint.valid()) plan.clones_of = 0;
  }
  if (program.features.bind_fd) {
    int number = kFirstFolderDescriptor;
    plan.spawn.Give(std::move(workspace->directory), number++);
    for (OpenedMount& mount : *mounts)
      plan.spawn.Give(std::move(mount.file), number++);
  }
  if (auto error = GiveNameFiles(drawing.facts.name_files, &plan.spawn)) return *error;
  if (auto error =
          OrderSpawn(program, drawing.text, shared.launcher.get(), policy_.with_proc, &plan))
    return *error;
  if (request.Is<TemplateSandbox>()) {
    if (!cold_reason.empty()) return Error{ErrorCode::kUnavailable, cold_reason, ""};
    if (!plan.fingerprint.valid()) return Error{ErrorCode::kUnavailable, "/proc can't be read", ""};
    OrderTemplate(drawing.template_options, drawing.template_steps, &preparation);
  } else if (auto error = OrderNetwork(policy_.network, policy_.by_domain, &preparation, &plan)) {
    return *error;
  }
  if (auto error = EnterMounted(kept, program, shared.launcher.get(), &plan)) return *error;
  return preparation;
}

std::optional<Error> BubblewrapBackend::AttachOptions(SpawnPlan* plan) const {
  return AttachBubblewrapOptions(plan);
}

}  // namespace native_runner
