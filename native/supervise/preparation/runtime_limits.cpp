#include <unistd.h>

#include <variant>

#include "supervise/preparation/runtime.h"

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

}  // namespace

std::optional<Error> ApplyLimits(const Limits& limits, const CgroupParent& cgroups,
                                 bool processes_enforceable, Preparation* preparation) {
  bool by_rlimit = false;
  const auto set = [&by_rlimit](const std::optional<std::uint64_t>& limit, std::uint64_t* field) {
    if (!limit) return;
    *field = *limit;
    by_rlimit = true;
  };
  OrderHeader& order = preparation->order;
  SpawnPlan* spawns =
      std::get_if<SpawnPlan>(&preparation->plan);  // what enters a session has no cgroup
  if (spawns != nullptr) spawns->counts_processes = processes_enforceable;
  bool wants_cgroup = false;
  set(limits.cpu_seconds, &order.cpu_seconds);
  set(limits.max_open_files, &order.open_files);
  set(limits.max_file_bytes, &order.file_bytes);
  if (limits.memory_bytes) {
    if (spawns != nullptr && cgroups.memory()) {
      wants_cgroup = true;
    } else {
      set(limits.memory_bytes, &order.data_bytes);
    }
  }
  if (limits.max_processes) {
    if (spawns != nullptr && cgroups.pids()) {
      wants_cgroup = true;
    } else if (processes_enforceable) {
      set(limits.max_processes, &order.processes);
      ++order.processes;  // the launcher is one of the user namespace's processes too
    } else {
      return NotEnforceable();
    }
  }
  if (by_rlimit) preparation->record.layers.Add(Layer::kRlimits);
  if (spawns != nullptr) spawns->wants_cgroup = wants_cgroup;
  if (wants_cgroup) preparation->record.layers.Add(Layer::kCgroup);
  return std::nullopt;
}

}  // namespace native_runner
