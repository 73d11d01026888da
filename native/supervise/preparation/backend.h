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
#include "supervise/os/file_threads.h"
#include "supervise/os/process.h"
#include "supervise/preparation/leases.h"
#include "supervise/preparation/run_result.h"
#include "supervise/sandbox/port_waits.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/sandbox/sandbox_template.h"

namespace native_runner {

// State that all runs of one supervisor share. Supervisor thread only, but for the launcher, the
// cgroups and the programs' search path, which plans read on their own threads.
struct SupervisorContext : std::enable_shared_from_this<SupervisorContext> {
  uv_loop_t* loop = nullptr;
  Descriptor null_device;
  Descriptor launcher;  // the sealed image of the launcher
  std::unique_ptr<Programs> programs;
  CgroupParent cgroups;
  Hosts hosts;
  HostWatch host_watch;
  FileThreads* files = nullptr;  // outlives this; nullptr: the supervisor thread itself looks
  MountTable mount_table;
  Leases leases;
  Templates* templates = nullptr;         // outlives this; nullptr: no templates
  NetworkQuestions* questions = nullptr;  // outlives this; nullptr: no JavaScript to ask
};

// Plan of a sandbox to spawn; a prewarmed sandbox with an equal fingerprint can take its place.
struct SpawnPlan {
  SpawnOptions spawn;            // the spawner adds stdio and the control socket
  std::vector<std::byte> entry;  // makes a launcher enter namespaces first; or empty
  std::string options;           // Backend::AttachOptions turns it into a descriptor
  Gate gate;                     // invalid: the child is not held back
  std::string workspace;         // as the command sees it
  std::shared_ptr<const NetworkPolicy> network;  // by domain: `entry` has its listeners; or null
  std::vector<std::string> guarded_nodes;        // devices that have to be mounted read-only
  std::vector<std::string> links;                // that `entry` keeps, as kStepLink names them
  std::vector<std::string> caches;               // that `entry` shows: kStepCache and kStepKept
  std::uint64_t cache_bytes = 0;                 // see kStepShowCaches
  std::shared_ptr<const void> holds;             // released when the end of the sandbox is proved
  bool shows_proc = false;                       // the launcher sees its own processes and mounts
  bool own_pid_namespace = false;                // the end of its init ends all its processes
  bool wants_cgroup = false;
  bool counts_processes = false;  // RLIMIT_NPROC counts only the sandbox's processes
  std::shared_ptr<const std::vector<std::string>> mount_points;  // see fingerprint.h; or null
  std::shared_ptr<const std::vector<std::string>> mounted;  // those, and the mounted files; or null
  // Fingerprint of a sandbox made from this plan; sandboxes with equal fingerprints are alike.
  Fingerprint fingerprint;
  bool allow_prewarmed = false;  // a prewarmed sandbox with an equal fingerprint may be used
  // Pool whose template may be cloned, if its fingerprint is equal; 0: none.
  std::uint64_t clones_of = 0;
  std::string cold_reason;  // why a requested clone is not possible: a clause; else empty
};

// Plan of a run in an open session.
struct SessionPlan {
  std::unique_ptr<SandboxSource> slot;
  // Replaces the request's; empty: the request's is used.
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::shared_ptr<const ShellReport> shell;  // of a shell session: filled until the slot ends
};

// Where a run can write, for the limits `writeBytes` and `reserveBytes`.
struct WrittenPlaces {
  // Directories of the host, real paths: the workspace (of a transaction: what it has changed), the
  // home, and /tmp where that is the host's. `writeBytes` counts what is added there.
  std::vector<std::string> counted = {};
  // Further ones, whose file systems `reserveBytes` is about too.
  std::vector<std::string> watched = {};
  bool has_memory = false;  // the sandbox has tmpfs mounts of its own, which count too
  // As the command sees it: an overlay over a tmpfs that no path leads to; or empty.
  std::string memory_overlay = {};
  std::string uncountable = {};  // why `writeBytes` can't be kept, as a clause; empty: it can
};

// Complete plan of one run under one backend; nothing has been started.
struct Preparation {
  OrderHeader order;  // flags and limits
  std::string cwd;    // for the launcher; empty: the directory where the backend starts it
  std::string home;   // the run's own, see WithOwnHome; empty: HOME is named already
  RunRecord record;
  std::vector<std::string> rules;            // see protocol/order.h
  std::shared_ptr<const DenialScene> scene;  // explains denials; null: the backend confines nothing
  WrittenPlaces places;
  std::variant<SpawnPlan, SessionPlan> plan;
};

// What a plan is made from besides the request: the host, as one thread sees it.
struct HostView {
  Host& host;
  // HostWatch's, from before the plan; nullopt: unknown, or needed by no fingerprint.
  std::optional<std::string> state;
};

// Does `look`, which looks at the host's files, and then calls `done` on the supervisor thread.
// Here and now if all mounted file systems are this machine's own (MountTable::AreLocal), and no
// earlier look of the key is left; else on a thread that can be left behind, as FileThreads::Do.
void LookAtFiles(SupervisorContext& shared, FileThreads::Key key, FileThreads::Work look,
                 FileThreads::Done done);

// Plans runs for one runtime. Immutable and shared between threads; Prepare is called on the
// supervisor thread. A new runtime is a new subclass: Run and Supervisor name none.
class Backend : public std::enable_shared_from_this<Backend> {
 public:
  using Ready = std::function<void(Result<Preparation>)>;

  virtual ~Backend() = default;

  // Returns the record of a run that ended before it was prepared: the request, with no layer in
  // force.
  virtual RunRecord Unprepared(const ExecRequest& request) const = 0;

  // Calls `ready` exactly once, now or later; `request` and this must live until then. kSetup
  // becomes the outcome "setup-failed", any other error rejects the call. A path that does not
  // answer is kSetup, after FileThreads::kPatienceMs.
  virtual void Prepare(const ExecRequest& request, SupervisorContext& shared,
                       Ready ready) const = 0;

  // Adds the parts that only a new sandbox needs, before it is spawned.
  virtual std::optional<Error> AttachOptions(SpawnPlan* plan) const;

 protected:
  // Makes a plan as LookAtFiles does, with this as the key, and calls `ready` on the supervisor
  // thread. On another thread `plan` gets a copy of the request, with what a plan depends on: it
  // may still run when the request and `ready` are gone. Then it keeps this and `shared`, if they
  // have shared owners.
  using PlanOnHost = std::function<Result<Preparation>(const ExecRequest&, const HostView&)>;
  void PlanFromHost(const ExecRequest& request, SupervisorContext& shared, PlanOnHost plan,
                    Ready ready) const;
};

inline std::optional<Error> Backend::AttachOptions(SpawnPlan* /*plan*/) const {
  return std::nullopt;
}

// Ensures that nothing runs without the layers in `required`. The preparation must have each of
// them, or the launcher must be able to (Landlock, a pid namespace of its own making); the launcher
// then insists on it. Any other layer fails with kSetup, which names it.
std::optional<Error> ApplyRequired(const std::vector<std::string>& required,
                                   Preparation* preparation);

// Puts the request's limits into `preparation`: a cgroup for memory and processes if the run spawns
// a sandbox and a cgroup is available, else resource limits. kSetup if a limit can't be enforced
// here. `processes_enforceable`: RLIMIT_NPROC counts the run alone (a user namespace of its own,
// and not uid 0).
std::optional<Error> ApplyLimits(const Limits& limits, const CgroupParent& cgroups,
                                 bool processes_enforceable, Preparation* preparation);

class SessionShell;

// A session, as seen by its owner. Supervisor thread only.
class OwnedSession {
 public:
  struct Listener {
    // Called once: the layers in force for the session's commands, or the reason why it did not
    // open.
    std::function<void(Result<LayerRecord>)> on_open;
    // Called once, last, and only after on_open succeeded: the end of the session is proved.
    // `reason`: in words.
    std::function<void(const std::string& reason)> on_gone;
  };

  virtual ~OwnedSession() = default;

  // `from`: the shell state that its commands begin with; null: none.
  virtual void Open(const SessionShell* from) = 0;

  // Returns the shell state with which its next command begins; null if it keeps none, or is not
  // open.
  virtual const SessionShell* shell() const = 0;

  // Ends the session and its commands. `reason`: a clause that follows "the session has ended: ".
  // The first reason is kept.
  virtual void Close(const std::string& reason) = 0;

  // Returns kListening if a process in the session listens on this TCP port.
  virtual PortState LookForPort(std::uint16_t port) const = 0;

  // Makes a port of the host lead to one of the session's; gone with the session.
  virtual ForwardAnswer Forward(const ForwardRequest& request) = 0;
  // Does nothing if there is no such forward.
  virtual void CloseForward(std::uint64_t number) = 0;
};

// Makes the session in which a backend's commands run. May be destroyed on any thread.
class SessionOpener {
 public:
  virtual ~SessionOpener() = default;

  // Called once, before any run, on the supervisor thread. The caller opens the session.
  virtual std::shared_ptr<OwnedSession> Make(SupervisorContext& shared,
                                             OwnedSession::Listener listener) const = 0;
};

// Spawns the sandbox of a plan, in its own cgroup if the plan wants one. `shared` and `runtime`
// outlive it.
class SpawnSource final : public SandboxSource {
 public:
  // `limits`: for the cgroup.
  SpawnSource(SupervisorContext& shared, const Backend& runtime, const Limits& limits,
              SpawnPlan plan)
      : shared_(shared), runtime_(runtime), limits_(limits), plan_(std::move(plan)) {}

  // Clones a sandbox if the plan allows it and there is a template; else spawns one. kSetup if the
  // host refuses. Without input, stdin is /dev/null, not an empty pipe: programs such as rg
  // distinguish the two.
  // Sets kOrderOwnMounts if a sandbox is spawned and the host's own mounts are not shared, so that
  // there is nothing to cut off: the sandbox then gets its order at once.
  Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* input, OrderHeader* order) override;
  SandboxStart start() const override { return start_; }
  std::string cold_reason() const override { return plan_.cold_reason; }

 private:
  std::shared_ptr<SandboxTemplate> FindTemplate();
  void LeaveMountsToLauncher(OrderHeader* order);
  Result<std::unique_ptr<Sandbox>> Clone(SandboxTemplate& origin, SandboxParts* parts,
                                         Descriptor* input);

  SupervisorContext& shared_;
  const Backend& runtime_;
  Limits limits_;
  SpawnPlan plan_;
  SandboxStart start_ = SandboxStart::kCold;
};

}  // namespace native_runner
