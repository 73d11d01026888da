#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "supervise/preparation/preparation.h"
#include "supervise/preparation/shared.h"

namespace native_runner {

// One way to confine a command. Immutable and shared between threads; Prepare is called on the
// supervisor thread. A new runtime is a new subclass: Run and Supervisor know none by name.
class Runtime {
 public:
  using Ready = std::function<void(Result<Preparation>)>;

  virtual ~Runtime() = default;

  // The record of a run that ended before it was prepared: what was asked for, no layer in force.
  virtual RunRecord Unprepared(const ExecRequest& request) const = 0;

  // Calls `ready` once, now or later; until then `request` and this must live. kSetup becomes the
  // outcome "setup-failed", any other error rejects the call.
  virtual void Prepare(const ExecRequest& request, Shared& shared, Ready ready) const = 0;

  // Adds what only a new sandbox needs, before it is spawned.
  virtual std::optional<Error> AttachOptions(SpawnPlan* plan) const;
};

inline std::optional<Error> Runtime::AttachOptions(SpawnPlan* /*plan*/) const {
  return std::nullopt;
}

// Sees to it that nothing runs without the layers in `required`: each is one that the preparation
// has, or (Landlock's, a pid namespace that the launcher makes) one that the launcher then insists
// on. kSetup, naming the layer, for any other.
std::optional<Error> ApplyRequired(const std::vector<std::string>& required,
                                   Preparation* preparation);

// Puts the request's limits into `preparation`: a cgroup for memory and processes where it spawns
// and one can be had, else resource limits; kSetup when a limit can't be enforced here.
// `processes_enforceable`: RLIMIT_NPROC counts the run alone (a user namespace of its own, and not
// uid 0).
std::optional<Error> ApplyLimits(const Limits& limits, const CgroupParent& cgroups,
                                 bool processes_enforceable, Preparation* preparation);

}  // namespace native_runner
