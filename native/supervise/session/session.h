#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "policy/run/shell_state.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/preparation/backend.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/output.h"

namespace native_runner {

// The shell state that one command gets, and the rules for the state it leaves.
struct ShellPart {
  std::string prelude;             // start of its shell script; empty: not a shell that keeps state
  std::vector<std::string> named;  // the call's own variables, which are not passed on
  std::string directory;           // the state's directory, where the command is to start; or empty
  bool hands_on_directory = false;      // the call named no directory
  std::shared_ptr<ShellReport> report;  // null: the session keeps no shell state
};

// A shell state in transfer: a file that begins with the state for the command; the command appends
// the state that it leaves.
struct ShellFile {
  Descriptor file;  // or invalid
  std::size_t given = 0;
  ShellPart part;  // without its prelude

  // kSetup if the file can't be made.
  static Result<ShellFile> Make(ShellPart part);
};

// The directory and the variables that pass from one command of a session to the next.
class SessionShell {
 public:
  // Start directory of a command that names none; empty: the workspace.
  const std::string& directory() const { return state_.cwd; }

  // Gives the state to a command that is a shell; `plan` gets the arguments that load it.
  ShellPart Enter(const ExecRequest& request, SessionPlan* plan) const;

  // Adopts the state left by a command that ended by itself, and records the result in its report.
  void Adopt(const ShellFile& left);

  // Drops the state's directory: a command could not start in it, so another could not either.
  void LeaveDirectory(const ShellFile& refused);

 private:
  ShellState state_;
};

// The place of one command in a session. Its processes are known to be gone when their launcher has
// reported so: it is a subreaper (prctl(2)) without a child left. A launcher that ends without a
// report may leave processes behind; the whole session is then ended, and that is the proof.
//
// A slot can be made before there is a command, with a launcher that waits for the order. It is not
// watched then: the session checks IsAlive before using it.
class SessionSlot final : public Sandbox {
 public:
  // The session that the slot belongs to.
  class Owner {
   public:
    Owner() = default;
    virtual ~Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    // A slot has got its order: the slot for the next command may be made.
    virtual void OnOrderSent() = 0;
    // Its command could not start in the shell state's directory, so nothing has run.
    virtual void OnDirectoryRefused(const ShellFile& refused) = 0;
    // Receives the state left by its command, which ended by itself as its launcher reported.
    virtual void OnShellLeft(const ShellFile& left) = 0;
    // It can't prove its command's end: the whole session must end. May destroy the slot.
    virtual void OnUnproved() = 0;
    // The slot is being destroyed.
    virtual void OnSlotLeft(SessionSlot* slot) = 0;
    // See Sandbox::end_is_proof; for the whole session.
    virtual bool end_is_proof() const = 0;
    // Returns the network of the session's own sandbox.
    virtual SandboxNetwork* network() const = 0;
    // Returns the session's own sandbox.
    virtual Sandbox* sandbox() const = 0;
  };

  // `control`: its launcher has the other end, or will get it.
  SessionSlot(LauncherChannel control, Descriptor out, Descriptor err);
  ~SessionSlot() override;

  // Assigns it to a command. `may_be_stopped`: an earlier command may have stopped its launcher.
  void Enter(std::shared_ptr<Owner> owner, ShellFile shell, bool may_be_stopped);

  bool Watch(uv_loop_t* loop, User* user, bool until_ready) override;
  // kFailed also if its launcher is gone: there is no child whose exit could explain it.
  LauncherChannel::Sent SendOrder(std::span<const std::byte> order) override;
  bool takes_order_first() const override { return true; }
  bool IsAlive() override;
  void End() override;
  bool end_is_proof() const override;
  SandboxNetwork* network() const override { return owner_ ? owner_->network() : nullptr; }
  Forwards* forwards() const override {
    Sandbox* const sandbox = owner_ ? owner_->sandbox() : nullptr;
    return sandbox != nullptr ? sandbox->forwards() : nullptr;
  }
  Forwards* MakeForwards() override { return owner_->sandbox()->MakeForwards(); }
  int mounts_pidfd() const override {
    const Sandbox* const sandbox = owner_ ? owner_->sandbox() : nullptr;
    return sandbox != nullptr ? sandbox->launcher_pidfd() : launcher_pidfd();
  }
  int most_tries() const override { return is_directory_refused_ ? 2 : 1; }

  // The session's launcher is gone; `is_proof`: so are all its processes. Otherwise the slot ends
  // its own launcher, and is gone when the launcher's pidfd shows its end: the session can no
  // longer report it.
  void OnSessionGone(bool is_proof);

 private:
  void NoteReport(const Report& report) override;
  void Insist();
  bool NeverStarts();
  void Settle();
  void SettleAlone();
  void BeGone();
  void HandOnShell();

  std::shared_ptr<Owner> owner_;  // null: not assigned yet
  ShellFile shell_;
  Timer insist_;
  EndWatch end_watch_;
  int silent_turns_ = 0;
  bool may_run_ = false;     // kReady has arrived: the command may have processes
  bool has_exited_ = false;  // by itself, before it was ordered to end
  bool is_directory_refused_ = false;
  bool is_proved_ = false;  // the launcher has reported that no process is left
  bool is_ending_ = false;
  bool is_orphan_ = false;  // the session can't end it any more
};

// The slots of one session: those of its commands, and a spare one for the next. Supervisor thread
// only; owned by its session.
class SessionSlots {
 public:
  explicit SessionSlots(const SupervisorContext& shared) : shared_(shared) {}

  // Returns a slot for a command, the spare one if it is alive. `sandbox`: the session's. kSetup if
  // none can be made.
  Result<std::unique_ptr<SessionSlot>> Take(Sandbox* sandbox);
  // Registers a slot that serves a command, until OnSlotLeft.
  void Add(SessionSlot* slot) { entered_.insert(slot); }
  void Remove(SessionSlot* slot) { entered_.erase(slot); }

  // Makes the spare slot ahead of time. A failure is ignored here: the next command tries again,
  // and reports it.
  void PrepareNext(Sandbox* sandbox);

  // The session's launcher is gone; `is_proof`: so are all processes it made.
  void OnSessionGone(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof);

  std::size_t entered() const { return entered_.size(); }

 private:
  // User of the spare slot while it ends.
  struct Dismissed final : Sandbox::User {
    explicit Dismissed(SessionSlots* whose) : slots(whose) {}
    void OnReport(const Report& /*report*/) override {}
    void OnGone() override { slots->next_.reset(); }
    SessionSlots* slots;
  };

  Result<std::unique_ptr<SessionSlot>> Make(Sandbox* sandbox) const;
  void Dismiss(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof);

  const SupervisorContext& shared_;
  std::unique_ptr<SessionSlot> next_;
  Dismissed dismissed_{this};
  std::set<SessionSlot*> entered_;
};

// Settings of a session.
struct SessionRule {
  std::uint64_t idle_ms = 0;       // time without a command until it ends; 0: unlimited
  std::uint64_t max_commands = 0;  // number of commands until it ends; 0: unlimited
  std::uint64_t tmp_bytes = 0;     // size of its private /tmp; 0: unlimited
  std::uint64_t clones_of = 0;     // pool whose template its sandbox may be cloned from; 0: none
  bool keeps_shell = false;        // cwd and variables pass from one shell command to the next
};

// The common part of a session's commands, taken from the preparation of its sandbox.
class CommandTemplate {
 public:
  CommandTemplate() = default;
  // `of_session`: the session's preparation, including its spawn plan.
  explicit CommandTemplate(const Preparation& of_session);

  const RunRecord& record() const { return record_; }

  // Adds the layers that its launcher reports to be in force.
  void AddEnforced(LayerSet enforced);

  // Returns the preparation of one command, without its slot. `cwd`: its start directory; `others`:
  // number of other launchers that RLIMIT_NPROC counts too. kSetup if a limit can't be enforced.
  Result<Preparation> Make(const ExecRequest& request, std::string cwd, std::size_t others) const;

  // Returns the path of a directory in the workspace, as the command sees it.
  std::string InWorkspace(const std::string& relative) const;

 private:
  std::uint32_t flags_ = 0;
  RunRecord record_;
  std::string workspace_;
  std::string home_;
  std::shared_ptr<const DenialScene> scene_;
  WrittenPlaces places_;
  bool counts_processes_ = false;
};

// A sandbox that serves many commands. Its launcher forks a launcher for each command
// (launcher/command/command.h). The end of the sandbox ends all of them, and is the fallback if
// the end of one can't be proved. Supervisor thread only; shared by its backend, the supervisor and
// its runs.
class Session : public OwnedSession,
                public std::enable_shared_from_this<Session>,
                private Sandbox::User,
                private SessionSlot::Owner {
 public:
  Session(SupervisorContext& shared, std::shared_ptr<const Backend> runtime, SessionRule rule,
          Listener listener);
  ~Session() override;

  void Open(const SessionShell* from) override;
  void Close(const std::string& reason) override;

  // Returns the error that rejects calls after its end.
  static Error SessionEnded(const std::string& reason);

  // Calls `ready` with the preparation of one command. kClosed if the session has ended. `key`: of
  // the look at the host's files. `request` must live until then.
  void Prepare(const ExecRequest& request, FileThreads::Key key, Backend::Ready ready);

  PortState LookForPort(std::uint16_t port) const override;
  ForwardAnswer Forward(const ForwardRequest& request) override;
  void CloseForward(std::uint64_t number) override;
  const SessionShell* shell() const override {
    return phase_ == Phase::kOpen && rule_.keeps_shell ? &shell_ : nullptr;
  }

  // Returns a slot for a planned command, with the shell part of its plan. kSetup if no slot can be
  // made.
  Result<std::unique_ptr<Sandbox>> Enter(ShellPart shell);

 private:
  enum class Phase { kNew, kOpening, kOpen, kClosing, kGone };

  // Called by its slots.
  void OnOrderSent() override;
  void OnDirectoryRefused(const ShellFile& refused) override;
  void OnShellLeft(const ShellFile& left) override { shell_.Adopt(left); }
  void OnUnproved() override;
  void OnSlotLeft(SessionSlot* slot) override;
  bool end_is_proof() const override { return sandbox_ && sandbox_->end_is_proof(); }
  SandboxNetwork* network() const override { return sandbox_ ? sandbox_->network() : nullptr; }
  Sandbox* sandbox() const override { return sandbox_.get(); }

  // Called by its own sandbox.
  void OnReport(const Report& report) override;
  void OnGone() override;

  Result<Preparation> Plan(const ExecRequest& request);
  void PrepareSandbox();
  void Spawn(Preparation preparation);
  void Launch(Preparation preparation);
  void OnReady(const Report& report);
  std::shared_ptr<SessionSlot::Owner> AsOwner();
  void Finish();
  void FailToOpen(const Error& error);
  void CheckMasks(const std::string& mounted_upon);
  std::string SetupErrorText() const;
  void EndWhenUnused();
  bool HasRunAll() const;
  std::string RunAll() const;
  void WatchIdleness();

  SupervisorContext& shared_;
  std::shared_ptr<const Backend> runtime_;
  SessionRule rule_;
  Listener listener_;
  Phase phase_ = Phase::kNew;
  bool has_opened_ = false;
  int tries_ = 1;               // number of set-up attempts, with this one
  bool is_separating_ = false;  // commands can signal only their own processes
  bool is_proved_ = false;      // its launcher has reported that no process is left
  std::string reason_;
  std::shared_ptr<Session> self_;  // set while there are processes

  CommandTemplate template_;
  std::shared_ptr<const std::vector<std::string>> mount_points_;  // or null
  std::string mounted_upon_;
  std::unique_ptr<Sandbox> sandbox_;
  std::optional<Capture> setup_stderr_;
  SessionSlots slots_;
  std::uint64_t commands_ = 0;
  SessionShell shell_;
  Timer idle_;
};

// Runs commands in one session of another backend. The session is made and used on the supervisor
// thread; this object may be destroyed on any thread.
class SessionBackend final : public Backend, public SessionOpener {
 public:
  SessionBackend(std::shared_ptr<const Backend> inner, SessionRule rule)
      : inner_(std::move(inner)), rule_(rule) {}

  std::shared_ptr<OwnedSession> Make(SupervisorContext& shared,
                                     OwnedSession::Listener listener) const override;

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

 private:
  std::shared_ptr<const Backend> inner_;
  SessionRule rule_;
  mutable std::weak_ptr<Session> session_;  // supervisor thread only; the supervisor owns it
  // Why the session ended. Supervisor thread only.
  std::shared_ptr<std::string> ended_ = std::make_shared<std::string>();
};

}  // namespace native_runner
