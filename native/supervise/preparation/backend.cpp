#include "supervise/preparation/backend.h"

#include <unistd.h>

#include <utility>

#include "protocol/layer.h"
#include "supervise/sandbox/spawned_sandbox.h"

namespace native_runner {
namespace {

Error NotEnforceable() {
  return Error{
      ErrorCode::kSetup,
      geteuid() == 0
          ? "limits.maxProcesses can't be enforced here: RLIMIT_NPROC does not bind uid 0 "
            "(setrlimit(2)), and there is no delegated cgroup v2 with the pids controller"
          : "limits.maxProcesses can't be enforced here: without a user namespace RLIMIT_NPROC "
            "would count all processes of this user, and there is no delegated cgroup v2 with the "
            "pids controller",
      "run the host in a delegated cgroup (systemd: Delegate=yes, DelegateSubgroup=host), or "
      "as an ordinary user with strict isolation"};
}

// Checks that a cgroup can keep the shares that are asked for: nothing else can.
std::optional<Error> CheckShares(const Limits& limits, const CgroupParent& cgroups,
                                 const Preparation& preparation) {
  const auto cannot = [](const char* name, const std::string& why, const char* fix) {
    return Error{ErrorCode::kSetup, std::string("limits.") + name + " can't be kept here: " + why,
                 fix};
  };
  const char* const asked = limits.cpu_share ? "cpuShare" : "ioShare";
  if (!std::holds_alternative<SpawnPlan>(preparation.plan)) {
    return cannot(asked, "a session's commands share one sandbox, so that none has its own cgroup",
                  "run the command outside of a session");
  }
  constexpr const char* kDelegate =
      "run the host in a delegated cgroup v2 with these controllers (systemd: Delegate=cpu io "
      "memory pids, for users also in user@.service)";
  if (limits.cpu_share && !cgroups.controllers().cpu)
    return cannot("cpuShare", "no cgroup v2 with the cpu controller is delegated", kDelegate);
  if (!limits.io_share) return std::nullopt;
  if (!cgroups.controllers().io)
    return cannot("ioShare", "no cgroup v2 with the io controller is delegated", kDelegate);
  const WrittenPlaces& places = preparation.places;
  const auto& directories = places.counted.empty() ? places.watched : places.counted;
  const std::string why =
      directories.empty() ? "the run can write nothing" : WhyNoIoWeights(directories.front());
  if (why.empty()) return std::nullopt;
  return cannot("ioShare", why,
                "as root: modprobe bfq; echo bfq > /sys/block/DISK/queue/scheduler, or enable "
                "io.cost (io.cost.qos of the root group)");
}

}  // namespace

std::optional<Error> ApplyLimits(const Limits& limits, const CgroupParent& cgroups,
                                 bool processes_enforceable, Preparation* preparation) {
  const WrittenPlaces& places = preparation->places;
  if (limits.write_bytes && !places.uncountable.empty()) {
    return Error{ErrorCode::kSetup, "limits.writeBytes can't be kept: " + places.uncountable,
                 "use Bubblewrap, or leave writeBytes out; reserveBytes can be kept"};
  }
  bool by_rlimit = false;
  const auto set = [&by_rlimit](const std::optional<std::uint64_t>& limit, std::uint64_t* field) {
    if (!limit) return;
    *field = *limit;
    by_rlimit = true;
  };
  OrderHeader& order = preparation->order;
  // A command in a session has no cgroup of its own.
  SpawnPlan* spawns = std::get_if<SpawnPlan>(&preparation->plan);
  if (spawns != nullptr) spawns->counts_processes = processes_enforceable;
  bool wants_cgroup = false;
  set(limits.cpu_seconds, &order.cpu_seconds);
  set(limits.max_open_files, &order.open_files);
  set(limits.max_file_bytes, &order.file_bytes);
  if (limits.memory_bytes) {
    if (spawns != nullptr && cgroups.controllers().memory) {
      wants_cgroup = true;
    } else {
      set(limits.memory_bytes, &order.data_bytes);
    }
  }
  if (limits.max_processes) {
    if (spawns != nullptr && cgroups.controllers().pids) {
      wants_cgroup = true;
    } else if (processes_enforceable) {
      set(limits.max_processes, &order.processes);
      ++order.processes;  // the launcher counts as one of the user namespace's processes
    } else {
      return NotEnforceable();
    }
  }
  if (limits.cpu_share || limits.io_share) {
    if (auto error = CheckShares(limits, cgroups, *preparation)) return error;
    wants_cgroup = true;
  }
  if (by_rlimit) preparation->record.layers.Add(Layer::kRlimits);
  if (spawns != nullptr) spawns->wants_cgroup = wants_cgroup;
  if (wants_cgroup) preparation->record.layers.Add(Layer::kCgroup);
  return std::nullopt;
}

namespace {

// Returns the caller's options that undo layers, as text for the error message.
std::string OpenedBy(const LayerRecord& layers) {
  std::string text;
  for (const std::string& name : layers.OpenedNames())
    text += " (" + name + ")";
  return text;
}

// Returns the launcher's layers that an order with these flags may have.
LayerSet PossibleLayers(std::uint32_t flags) {
  LayerSet possible;
  if ((flags & kOrderLandlock) != 0) {
    possible.Add(Layer::kLandlockFiles);
    possible.Add(Layer::kLandlockScope);
  }
  if ((flags & kOrderNoSockets) != 0) possible.Add(Layer::kLandlockTcp);
  if ((flags & kOrderMakeInit) != 0) possible.Add(Layer::kPidNamespace);
  if ((flags & kOrderSession) != 0) possible.Add(Layer::kCommandSeparation);
  if ((flags & kOrderRenames) != 0) possible.Add(Layer::kRenameDirectories);
  return possible;
}

}  // namespace

std::optional<Error> ApplyRequired(const std::vector<std::string>& required,
                                   Preparation* preparation) {
  const LayerRecord& layers = preparation->record.layers;
  const LayerSet possible = PossibleLayers(preparation->order.flags);
  for (const std::string& name : required) {
    std::optional<Layer> layer = LayerOf(name);
    if (layer && layers.Has(*layer)) continue;
    // Where the launcher makes the pid namespace, its end also ends the process tree.
    if (layer == Layer::kTreeKillPidNamespace) layer = Layer::kPidNamespace;
    if (!layer || !possible.Has(*layer)) {
      return Error{ErrorCode::kSetup,
                   "the required layer \"" + name + "\" is not one that " +
                       preparation->record.runtime + " has under this policy" + OpenedBy(layers),
                   "choose another runtime, or take the layer off the required ones"};
    }
    preparation->order.required.Add(*layer);
  }
  return std::nullopt;
}

namespace {

// Leaves out what no plan depends on: input may be large.
ExecRequest ForPlan(const ExecRequest& request) {
  ExecRequest made;
  made.kind = request.kind;
  made.argv = request.argv;
  made.cwd = request.cwd;
  made.limits = request.limits;
  made.home = request.home;
  made.allow_prewarmed = request.allow_prewarmed;
  made.clones_of = request.clones_of;
  return made;
}

// One plan on its way: from the supervisor thread to the one that looks, and back.
struct PlanWork {
  std::shared_ptr<const Backend> backend;
  std::shared_ptr<const SupervisorContext> shared;
  ExecRequest request;
  std::unique_ptr<Host> host;
  std::optional<std::string> state;
  std::optional<Result<Preparation>> made;
};

// A file system of this machine answers, or nothing does.
bool MayLookHere(SupervisorContext& shared, FileThreads::Key key) {
  return shared.files == nullptr || (shared.mount_table.AreLocal() && !shared.files->Has(key));
}

// The same, without a further system call: `State` of the host's watch was just called.
bool MayLookHereAfterState(SupervisorContext& shared, FileThreads::Key key) {
  return shared.files == nullptr || (shared.host_watch.AreLocal() && !shared.files->Has(key));
}

}  // namespace

void LookAtFiles(SupervisorContext& shared, FileThreads::Key key, FileThreads::Work look,
                 FileThreads::Done done) {
  if (!MayLookHere(shared, key)) return shared.files->Do(key, std::move(look), std::move(done));
  look();
  done(std::nullopt);
}

void Backend::PlanFromHost(const ExecRequest& request, SupervisorContext& shared, PlanOnHost plan,
                           Ready ready) const {
  const bool needs_state =
      request.allow_prewarmed || request.clones_of != 0 || request.Is<TemplateSandbox>();
  auto state = needs_state ? shared.host_watch.State() : std::nullopt;
  auto host = shared.hosts.Take();
  if (needs_state ? MayLookHereAfterState(shared, this) : MayLookHere(shared, this)) {
    auto made = plan(request, {*host, std::move(state)});
    shared.hosts.Return(std::move(host));
    return ready(std::move(made));
  }
  const auto work = std::make_shared<PlanWork>();
  work->backend = weak_from_this().lock();
  work->shared = shared.weak_from_this().lock();
  work->request = ForPlan(request);
  work->host = std::move(host);
  work->state = std::move(state);
  const auto look = [work, plan = std::move(plan)] {
    work->made.emplace(plan(work->request, {*work->host, std::move(work->state)}));
  };
  auto done = [work, &shared, ready = std::move(ready)](const std::optional<Error>& error) {
    if (error) return ready(*error);
    shared.hosts.Return(std::move(work->host));
    ready(std::move(*work->made));
  };
  shared.files->Do(this, look, std::move(done));
}

Result<std::unique_ptr<Sandbox>> SpawnSource::Acquire(Descriptor* input, OrderHeader* order) {
  SandboxParts parts;
  parts.holds = std::move(plan_.holds);
  if (plan_.wants_cgroup) {
    auto made = shared_.cgroups.Create(limits_);
    if (!made) return made.error();
    parts.cgroup = std::move(*made);
  }
  if (plan_.network) {
    parts.network = std::make_unique<SandboxNetwork>(plan_.network, shared_.questions);
  }
  if (const auto origin = FindTemplate()) {
    auto cloned = Clone(*origin, &parts, input);
    if (cloned) return cloned;
    plan_.cold_reason = cloned.error().message;
  }
  if (order != nullptr) LeaveMountsToLauncher(order);
  if (auto failed = runtime_.AttachOptions(&plan_)) return *failed;
  if (input->valid()) {
    plan_.spawn.Give(std::move(*input), STDIN_FILENO);
  } else {
    plan_.spawn.inherited.push_back({shared_.null_device.get(), STDIN_FILENO});
  }
  return SpawnedSandbox::Spawn({.spawn = std::move(plan_.spawn),
                                .own_init = plan_.own_pid_namespace,
                                .cgroup = std::move(parts.cgroup),
                                .gate = std::move(plan_.gate),
                                .entry = std::move(plan_.entry),
                                .holds = std::move(parts.holds),
                                .network = std::move(parts.network),
                                .mounted = std::move(plan_.mounted),
                                .host_mounts = &shared_.mount_table});
}

std::shared_ptr<SandboxTemplate> SpawnSource::FindTemplate() {
  if (plan_.clones_of == 0 || shared_.templates == nullptr) return nullptr;
  return shared_.templates->Find(plan_.clones_of, plan_.fingerprint, &plan_.cold_reason);
}

// Leaves its arguments untouched on failure, so that the caller can spawn a sandbox instead.
Result<std::unique_ptr<Sandbox>> SpawnSource::Clone(SandboxTemplate& origin, SandboxParts* parts,
                                                    Descriptor* input) {
  const CloneRequest request{.tmp_bytes = plan_.fingerprint.tmp_bytes};
  const int descriptor = input->valid() ? input->get() : shared_.null_device.get();
  auto cloned = origin.Clone(request, descriptor, parts);
  if (!cloned) return cloned;
  *input = Descriptor();
  start_ = SandboxStart::kCloned;
  return cloned;
}

// Only for a spawned sandbox: a clone's mounts are its template's, which are private already.
void SpawnSource::LeaveMountsToLauncher(OrderHeader* order) {
  SpawnOptions& spawn = plan_.spawn;
  if (!spawn.makes_mounts || !plan_.shows_proc || shared_.mount_table.AreShared()) return;
  spawn.makes_mounts = false;
  order->flags |= kOrderOwnMounts;
}

}  // namespace native_runner
