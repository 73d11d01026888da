#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "policy/run/shell_state.h"
#include "supervise/os/descriptor.h"
#include "supervise/preparation/backend.h"
#include "supervise/sandbox/sandbox.h"

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

}  // namespace native_runner
