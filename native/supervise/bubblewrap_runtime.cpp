#include "supervise/bubblewrap_runtime.h"

#include <fcntl.h>

#include <cerrno>

#include "policy/bubblewrap_argv.h"
#include "policy/extra_args.h"
#include "policy/workspace_path.h"
#include "supervise/landlock_rules.h"
#include "supervise/landlock_runtime.h"
#include "supervise/workspace.h"

namespace native_runner {
namespace {

// What bwrap and the launcher find at which number; 3 is the control socket.
constexpr int kOptionsDescriptor = 4;
constexpr int kLauncherDescriptor = 5;
constexpr int kWorkspaceDescriptor = 6;

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

RunRecord RecordOf(const BubblewrapPolicy& policy, BubblewrapPlan plan, std::string cwd,
                   const ExecRequest& request) {
  RunRecord record;
  record.runtime = "bubblewrap";
  record.cmd = policy.bwrap_path;
  std::erase_if(plan.mounts, [](const Mount& mount) {
    return mount.kind == Mount::Kind::kProgram;  // the launcher is not in the record
  });
  for (Mount& mount : plan.mounts)
    mount.descriptor = -1;  // the record names paths, not numbers
  plan.chdir = std::move(cwd);
  record.argv = BubblewrapOptions(plan);
  record.argv.emplace_back("--");
  record.command_at = record.argv.size();
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  if (!request.cwd.empty()) record.cwd = request.cwd;
  return record;
}

// What the caller's own options open is not in force, and the record says by which of them.
void UndoLayers(const std::vector<std::string>& extra_args, Preparation* preparation) {
  auto& layers = preparation->record.layers;
  for (const ExtraArg& arg : ExtraArgs(extra_args)) {
    if (!arg.opens) continue;
    for (const std::string& layer : arg.undone) {
      std::erase(layers, layer);
      if (layer == "no-capabilities") preparation->order.flags &= ~kOrderNoCapabilities;
    }
    layers.push_back("opened:" + arg.text);
  }
}

// With /proc the sealed image itself is executed, and no mount shows it. Without, bwrap makes a
// read-only file of it, for which it reads the image from an offset that must be no other run's.
std::optional<Error> HandOverLauncher(bool with_proc, int launcher, SpawnOrder* spawn) {
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

RunRecord BubblewrapRuntime::Unprepared(const ExecRequest& request) const {
  const auto relative = WorkspaceRelative(request.cwd, "");
  std::string cwd = relative ? JoinPath(kWorkspace, relative.value()) : kWorkspace;
  return RecordOf(policy_, PlanPureBubblewrap(policy_, kWorkspace), std::move(cwd), request);
}

void BubblewrapRuntime::Prepare(const ExecRequest& request, Shared& shared, Ready ready) const {
  shared.programs->Get(policy_.bwrap_path, [this, &request, &shared, ready = std::move(ready)](
                                               Result<std::shared_ptr<const Program>> program) {
    ready(program ? Plan(request, **program, shared) : Result<Preparation>(program.error()));
  });
}

Result<Preparation> BubblewrapRuntime::Plan(const ExecRequest& request, const Program& program,
                                            Shared& shared) const {
  const bool strict = policy_.isolation == Isolation::kStrict;
  if (strict && !program.features.as_pid_1) {
    return Error{ErrorCode::kUnavailable, program.path + " is too old: it lacks --as-pid-1",
                 "install Bubblewrap 0.3 or newer"};
  }
  if (!policy_.with_proc && !program.features.perms) {
    return Error{ErrorCode::kUnavailable,
                 program.path + " is too old for procBind: false, it lacks --perms",
                 "install Bubblewrap 0.5 or newer, or leave procBind at its default"};
  }
  auto relative = WorkspaceRelative(request.cwd, "NativeRunner.exec");
  if (!relative) return relative.error();
  auto workspace = OpenWorkspace(policy_.shadow_dir);
  if (!workspace) return workspace.error();
  auto facts = shared.host.Look(policy_, program.features);
  if (!facts) return facts.error();

  Preparation preparation;
  preparation.own_pid_namespace = strict;
  preparation.order.flags = kOrderNoNewPrivs | kOrderSeccomp;
  if (strict) preparation.order.flags |= kOrderIsInit | kOrderNoCapabilities;
  const auto limited =
      ApplyLimits(request.limits, shared.cgroups, strict && !facts->is_root, &preparation);
  if (limited) return *limited;
  const std::vector<std::string> limit_layers = std::move(preparation.record.layers);

  const bool size_tmp = program.features.size && request.limits.memory_bytes;
  const BubblewrapPlan plan = PlanBubblewrap(
      policy_, *facts, workspace->path, program.features.bind_fd ? kWorkspaceDescriptor : -1,
      kWorkspace, size_tmp ? *request.limits.memory_bytes : 0, kLauncherDescriptor);
  // The launcher goes to `cwd`: bwrap, which may have been made before it is known, to the root.
  if (!relative->empty()) preparation.cwd = JoinPath(kWorkspace, *relative);
  preparation.record = RecordOf(policy_, plan, JoinPath(kWorkspace, *relative), request);
  auto& layers = preparation.record.layers;
  layers = BubblewrapLayers(plan);
  layers.emplace_back("no-new-privs");
  layers.emplace_back("seccomp");
  layers.emplace_back(strict ? "tree-kill:pid-namespace" : "tree-kill:subreaper");
  layers.insert(layers.end(), limit_layers.begin(), limit_layers.end());
  UndoLayers(policy_.extra_args, &preparation);
  if (policy_.with_landlock) {
    if (LandlockAbi() == 0) return NoLandlock();
    preparation.order.flags |= kOrderLandlock | kOrderScoped;
    preparation.order.required |= kEnforcedLandlockFiles;
    preparation.rules = LandlockRulesInside(policy_);
  }
  if (auto error = ApplyRequired(policy_.required, &preparation)) return *error;

  SpawnOrder& spawn = preparation.spawn;
  spawn.path = program.exec_path();
  spawn.argv = {"bwrap", "--args", std::to_string(kOptionsDescriptor), "--"};
  if (auto error = HandOverLauncher(policy_.with_proc, shared.launcher.get(), &spawn))
    return *error;
  const bool may_stand = request.may_stand && CanStand(policy_) && program.features.bind_fd &&
                         !preparation.wants_cgroup;
  if (may_stand) {
    preparation.fingerprint = FingerprintOf(plan, workspace->directory.get(), &shared.host_watch);
  }
  if (program.features.bind_fd) {
    spawn.Give(std::move(workspace->directory), kWorkspaceDescriptor);
  }
  preparation.options = JoinWithNul(BubblewrapOptions(plan));
  return preparation;
}

// Options travel over a descriptor: neither policy nor paths show in the host's process list. A
// memory file is the quickest; where bwrap must be put into a cgroup before it has children, a pipe
// that is filled later holds it back.
std::optional<Error> BubblewrapRuntime::Furnish(Preparation* preparation) const {
  std::string options = std::move(preparation->options);
  if (!preparation->wants_cgroup) {
    auto file = MemoryFile("options", options.data(), options.size(), false);
    if (!file) return file.error();
    preparation->spawn.Give(std::move(*file), kOptionsDescriptor);
    return std::nullopt;
  }
  auto pipe = MakePipe();
  if (!pipe) return pipe.error();
  if (options.size() > kDefaultPipe && fcntl(pipe->write.get(), F_SETPIPE_SZ, options.size()) < 0) {
    return SystemError("fcntl(F_SETPIPE_SZ) for bwrap's options", errno);
  }
  preparation->spawn.Give(std::move(pipe->read), kOptionsDescriptor);
  preparation->gate = {std::move(pipe->write), std::move(options)};
  return std::nullopt;
}

}  // namespace native_runner
