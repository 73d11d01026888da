#include "supervise/preparation/spawn_source.h"

#include <unistd.h>

#include <utility>

#include "supervise/sandbox/spawned_sandbox.h"

namespace native_runner {

Result<std::unique_ptr<Sandbox>> SpawnSource::Acquire(Descriptor* input) {
  std::unique_ptr<Cgroup> cgroup;
  if (plan_.wants_cgroup) {
    auto made = shared_.cgroups.Create(limits_);
    if (!made) return made.error();
    cgroup = std::move(*made);
  }
  std::unique_ptr<SandboxNetwork> network;
  if (plan_.network) {
    network = SandboxNetwork::Make(plan_.network, shared_.questions);
    if (!network) return Error{ErrorCode::kSetup, "the network by domain can't be made", ""};
  }
  if (auto failed = runtime_.AttachOptions(&plan_)) return *failed;
  if (input->valid()) {
    plan_.spawn.Give(std::move(*input), STDIN_FILENO);
  } else {
    plan_.spawn.inherited.push_back({shared_.null_device.get(), STDIN_FILENO});
  }
  return SpawnedSandbox::Spawn({.spawn = std::move(plan_.spawn),
                                .own_init = plan_.own_pid_namespace,
                                .cgroup = std::move(cgroup),
                                .gate = std::move(plan_.gate),
                                .entry = std::move(plan_.entry),
                                .holds = std::move(plan_.holds),
                                .network = std::move(network),
                                .mounted = std::move(plan_.mounted),
                                .host_mounts = &shared_.mount_table});
}

void SpawnSource::Complete(OrderHeader* order) {
  SpawnOptions& spawn = plan_.spawn;
  if (!spawn.makes_mounts || !plan_.shows_proc || shared_.mount_table.AreShared()) return;
  spawn.makes_mounts = false;
  order->flags |= kOrderOwnMounts;
}

}  // namespace native_runner
