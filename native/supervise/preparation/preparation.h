#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "policy/denials/scene.h"
#include "policy/network/rules/network_policy.h"
#include "protocol/order.h"
#include "supervise/host/fingerprint.h"
#include "supervise/os/child.h"
#include "supervise/preparation/run_result.h"
#include "supervise/sandbox/gate.h"
#include "supervise/sandbox/sandbox_source.h"

namespace native_runner {

// A sandbox that is to be spawned, or one that was made ahead and is like it.
struct SpawnPlan {
  SpawnOptions spawn;            // stdio and the control socket are added by who spawns
  std::vector<std::byte> entry;  // the order by which a launcher enters namespaces first; or none
  std::string options;           // what Runtime::AttachOptions turns into a descriptor
  Gate gate;                     // not valid: nothing is held back
  std::string workspace;         // as the command sees it
  std::shared_ptr<const NetworkPolicy> network;  // by domain: `entry` has its listeners; or none
  std::shared_ptr<const void> holds;             // lives until the end of the sandbox is proved
  bool shows_proc = false;                       // the launcher sees its own processes and mounts
  bool own_pid_namespace = false;  // the end of its init is the end of all its processes
  bool wants_cgroup = false;
  bool counts_processes = false;  // RLIMIT_NPROC counts those of the sandbox alone
  std::shared_ptr<const std::vector<std::string>> mount_points;  // see fingerprint.h; or none
  std::shared_ptr<const std::vector<std::string>> mounted;  // those, and what is mounted; or none
  // Of a sandbox that would be made for the plan: equal ones are alike.
  Fingerprint fingerprint;
  bool may_stand = false;  // one that stands and has the same will do
  std::uint64_t clones_of =
      0;                    // a clone of this pool's template that has the same will do; 0: none
  std::string cold_reason;  // why not, where that was asked for: a clause
};

// A place in a session that is open.
struct SessionPlan {
  std::unique_ptr<SandboxSource> slot;
  // In place of the request's; empty: as it says.
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::shared_ptr<const ShellReport> shell;  // of a shell session: filled in until the slot is gone
};

// How to start one run under some runtime: everything is decided, nothing has been started.
struct Preparation {
  OrderHeader order;  // flags and limits
  std::string cwd;    // for the launcher; empty: where the runtime put it
  RunRecord record;
  std::vector<std::string> rules;            // see protocol/order.h
  std::shared_ptr<const DenialScene> scene;  // what explains refusals; none: there are no walls
  std::variant<SpawnPlan, SessionPlan> plan;
};

}  // namespace native_runner
