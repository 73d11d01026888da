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
  FindTemplate();
  if (template_) {
    auto cloned = Clone(&cgroup, &network, input);
    if (cloned) return cloned;
    plan_.cold_reason = cloned.error().message;
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

void SpawnSource::FindTemplate() {
  if (plan_.clones_of == 0 || shared_.templates == nullptr) return;
  if (!template_)
    template_ = shared_.templates->Find(plan_.clones_of, plan_.fingerprint, &plan_.cold_reason);
  plan_.clones_of = 0;
}

// What could not be cloned is spawned: what is given away here is only given if it can be.
Result<std::unique_ptr<Sandbox>> SpawnSource::Clone(std::unique_ptr<Cgroup>* cgroup,
                                                    std::unique_ptr<SandboxNetwork>* network,
                                                    Descriptor* input) {
  CloneAsk ask;
  ask.request.tmp_bytes = plan_.fingerprint.tmp_bytes;
  ask.input = input->valid() ? input->get() : shared_.null_device.get();
  ask.cgroup = cgroup;
  ask.network = network;
  ask.holds = &plan_.holds;
  auto cloned = template_->Clone(ask);
  if (!cloned) return cloned;
  *input = Descriptor();
  start_ = SandboxStart::kCloned;
  return cloned;
}

// A clone's template has mounts of its own already.
void SpawnSource::Complete(OrderHeader* order) {
  FindTemplate();
  if (template_) return;
  SpawnOptions& spawn = plan_.spawn;
  if (!spawn.makes_mounts || !plan_.shows_proc || shared_.mount_table.AreShared()) return;
  spawn.makes_mounts = false;
  order->flags |= kOrderOwnMounts;
}

}  // namespace native_runner
