#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "protocol/order.h"
#include "supervise/host/fingerprint.h"
#include "supervise/host/host.h"
#include "supervise/host/host_watch.h"
#include "supervise/host/program.h"
#include "supervise/os/cgroup.h"
#include "supervise/os/child.h"
#include "supervise/preparation/run_result.h"

namespace native_runner {

// What the runs of one supervisor share. Supervisor thread only.
struct Shared {
  uv_loop_t* loop = nullptr;
  Descriptor null_device;
  Descriptor launcher;  // the sealed image of the launcher
  std::unique_ptr<Programs> programs;
  CgroupParent cgroups;
  Host host;
  HostWatch host_watch;
};

class Session;

// Of a command in a shell session.
struct ShellPart {
  std::string prelude;               // of a shell with a state; see policy/shell/shell_state.h
  bool is_in_its_directory = false;  // that of the state: the call named none
};

// Holds a spawned child back until it has been put into its cgroup: writing `bytes` lets it go.
struct Gate {
  Descriptor descriptor;
  std::string bytes;
};

// How to start one run under some runtime: everything is decided, nothing has been started.
struct Preparation {
  SpawnOptions spawn;     // stdio and the control socket are added by who spawns
  std::string options;    // what AttachOptions turns into a descriptor
  Gate gate;              // not valid: nothing is held back
  OrderHeader order;      // flags and limits
  std::string cwd;        // for the launcher; empty: where the runtime put it
  std::string workspace;  // as the command sees it
  RunRecord record;
  std::vector<std::string> rules;     // of Landlock; see protocol/order.h
  std::shared_ptr<const void> holds;  // lives until the end of the run is proved
  bool own_pid_namespace = false;     // the end of its init is the end of all its processes
  bool wants_cgroup = false;
  bool counts_processes = false;  // RLIMIT_NPROC counts those of the sandbox alone
  std::shared_ptr<const std::vector<std::string>> mount_points;  // see fingerprint.h; or none
  Fingerprint fingerprint;  // valid: a sandbox that stands and has the same will do

  // In place of a sandbox of its own, and of what the request says.
  std::shared_ptr<Session> session;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  ShellPart shell;
};

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
  virtual std::optional<Error> AttachOptions(Preparation* preparation) const;
};

inline std::optional<Error> Runtime::AttachOptions(Preparation* /*preparation*/) const {
  return std::nullopt;
}

// Sees to it that nothing runs without the layers in `required`: each is one that the preparation
// has, or (Landlock's, a pid namespace that the launcher makes) one that the launcher then insists
// on. kSetup, naming the layer, for any other.
std::optional<Error> ApplyRequired(const std::vector<std::string>& required,
                                   Preparation* preparation);

// Puts the request's limits into `preparation`: a cgroup for memory and processes where one can be
// had, else resource limits; kSetup when a limit can't be enforced here. `processes_enforceable`:
// RLIMIT_NPROC counts the run alone (a user namespace of its own, and not uid 0).
std::optional<Error> ApplyLimits(const Limits& limits, const CgroupParent& cgroups,
                                 bool processes_enforceable, Preparation* preparation);

}  // namespace native_runner
