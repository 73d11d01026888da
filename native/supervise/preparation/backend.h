#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policy/denials/denials.h"
#include "policy/network/network_rules.h"
#include "policy/options/request.h"
#include "policy/result.h"
#include "protocol/order.h"
#include "supervise/host/fingerprint.h"
#include "supervise/host/host.h"
#include "supervise/host/program.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/os/cgroup.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/process.h"
#include "supervise/preparation/leases.h"
#include "supervise/preparation/run_result.h"
#include "supervise/sandbox/port_waits.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/sandbox/sandbox_template.h"

namespace native_runner {

// What the runs of one supervisor share. Supervisor thread only.
struct SupervisorContext {
  uv_loop_t* loop = nullptr;
  Descriptor null_device;
  Descriptor launcher;  // the sealed image of the launcher
  std::unique_ptr<Programs> programs;
  CgroupParent cgroups;
  Host host;
  HostWatch host_watch;
  MountTable mount_table;
  Leases leases;
  Templates* templates = nullptr;         // outlives it; nullptr: there are none
  NetworkQuestions* questions = nullptr;  // outlives it; nullptr: nobody can be asked
};

// A sandbox that is to be spawned, or one that was made ahead and is like it.
struct SpawnPlan {
  SpawnOptions spawn;            // stdio and the control socket are added by who spawns
  std::vector<std::byte> entry;  // the order by which a launcher enters namespaces first; or none
  std::string options;           // what Backend::AttachOptions turns into a descriptor
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
  bool allow_prewarmed = false;  // one that stands and has the same will do
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

// One way to confine a command. Immutable and shared between threads; Prepare is called on the
// supervisor thread. A new runtime is a new subclass: Run and Supervisor know none by name.
class Backend {
 public:
  using Ready = std::function<void(Result<Preparation>)>;

  virtual ~Backend() = default;

  // The record of a run that ended before it was prepared: what was asked for, no layer in force.
  virtual RunRecord Unprepared(const ExecRequest& request) const = 0;

  // Calls `ready` once, now or later; until then `request` and this must live. kSetup becomes the
  // outcome "setup-failed", any other error rejects the call.
  virtual void Prepare(const ExecRequest& request, SupervisorContext& shared,
                       Ready ready) const = 0;

  // Adds what only a new sandbox needs, before it is spawned.
  virtual std::optional<Error> AttachOptions(SpawnPlan* plan) const;
};

inline std::optional<Error> Backend::AttachOptions(SpawnPlan* /*plan*/) const {
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

// A session as its owner has it. Supervisor thread only.
class OwnedSession {
 public:
  struct Listener {
    // Once: the layers that are in force for its commands; or why there is no session.
    std::function<void(Result<LayerRecord>)> on_open;
    // Once, last, and only after it was open: its end is proved. In words, why.
    std::function<void(const std::string& reason)> on_gone;
  };

  virtual ~OwnedSession() = default;

  virtual void Open() = 0;

  // Ends it, and what runs in it. `reason`: a clause that follows "the session has ended: ". The
  // first one stays.
  virtual void Close(const std::string& reason) = 0;

  // Whether something listens on a TCP port in it.
  virtual PortState LookForPort(std::uint16_t port) const = 0;
};

// Makes the session that a runtime's commands are run in. May be let go on any thread.
class SessionOpener {
 public:
  virtual ~SessionOpener() = default;

  // Once, before any run, on the supervisor thread. The session is still to be opened.
  virtual std::shared_ptr<OwnedSession> Make(SupervisorContext& shared,
                                             OwnedSession::Listener listener) const = 0;
};

// Spawns what a plan says, in a cgroup of its own where it wants one. `shared` and `runtime`
// outlive it.
class SpawnSource final : public SandboxSource {
 public:
  // `limits`: of the cgroup.
  SpawnSource(SupervisorContext& shared, const Backend& runtime, const Limits& limits,
              SpawnPlan plan)
      : shared_(shared), runtime_(runtime), limits_(limits), plan_(std::move(plan)) {}

  // Clones one where the plan says that it may and there is a template; else spawns it. kSetup when
  // the host refuses. No input is /dev/null, not an empty pipe: programs such as rg
  // tell the two apart.
  Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* input) override;
  // kOrderOwnMounts where nothing is to be cut off, as far as the host's own mounts tell: then the
  // sandbox has its order at once.
  void Complete(OrderHeader* order) override;
  SandboxStart start() const override { return start_; }
  std::string cold_reason() const override { return plan_.cold_reason; }

 private:
  void FindTemplate();
  Result<std::unique_ptr<Sandbox>> Clone(std::unique_ptr<Cgroup>* cgroup,
                                         std::unique_ptr<SandboxNetwork>* network,
                                         Descriptor* input);

  SupervisorContext& shared_;
  const Backend& runtime_;
  Limits limits_;
  SpawnPlan plan_;
  std::shared_ptr<SandboxTemplate> template_;  // to be cloned; or none
  SandboxStart start_ = SandboxStart::kCold;
};

}  // namespace native_runner
