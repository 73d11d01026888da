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

// What one command is given of a shell's state, and where it leaves what it has.
struct ShellPart {
  std::string prelude;             // what its shell begins with; empty: it is none that has a state
  std::vector<std::string> named;  // the call's own variables, which are not handed on
  std::string directory;           // that of the state, in which it is to start; or empty
  bool hands_on_directory = false;      // the call named none
  std::shared_ptr<ShellReport> report;  // null: the session keeps no shell
};

// The same on its way: a file that begins with what the command is given, and that it writes what
// it leaves behind that.
struct ShellFile {
  Descriptor file;  // or none
  std::size_t given = 0;
  ShellPart part;  // without its prelude

  // kSetup when there can be no file.
  static Result<ShellFile> Make(ShellPart part);
};

// The directory and the variables that pass from one command of a session to the next.
class SessionShell {
 public:
  // Where a command that names no directory starts; empty: in the workspace.
  const std::string& directory() const { return state_.cwd; }

  // Gives a command that is a shell's the state; `plan` gets the arguments that do so.
  ShellPart Enter(const ExecRequest& request, SessionPlan* plan) const;

  // Takes what a command has left, which has come to its own end; its report says what came of it.
  void Adopt(const ShellFile& left);

  // A command could not start in the directory of the state: nor could another.
  void LeaveDirectory(const ShellFile& refused);

 private:
  ShellState state_;
};

// The place of one command in a session. Its processes are known to be gone when their launcher has
// said so: it is a subreaper (prctl(2)) that had no child left. One that ends without a word may
// leave some behind; then the whole session is ended, and that is the proof.
//
// It can stand before there is a command, with a launcher that waits for the order. Nobody watches
// it then: who wants it asks whether it is alive.
class SessionSlot final : public Sandbox {
 public:
  // The session that it is a place in.
  class Owner {
   public:
    Owner() = default;
    virtual ~Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    // A slot has got its order: one for the next command may be made.
    virtual void OnOrderSent() = 0;
    // Its command could not start in the directory of the shell's state, so that nothing has run.
    virtual void OnDirectoryRefused(const ShellFile& refused) = 0;
    // What its command has left, which has come to its own end as its launcher said.
    virtual void OnShellLeft(const ShellFile& left) = 0;
    // It can't prove its command's end: all of the session is to be ended. Possibly the slot's last
    // moment.
    virtual void OnUnproved() = 0;
    // It is being destroyed.
    virtual void OnSlotLeft(SessionSlot* slot) = 0;
    // See Sandbox::end_is_proof; of all of the session.
    virtual bool end_is_proof() const = 0;
    // That of the session's own sandbox.
    virtual SandboxNetwork* network() const = 0;
  };

  // `control`: its launcher has the other end, or is going to.
  SessionSlot(LauncherChannel control, Descriptor out, Descriptor err);
  ~SessionSlot() override;

  // It is to be a command's. `may_be_stopped`: by a command that is over.
  void Enter(std::shared_ptr<Owner> owner, ShellFile shell, bool may_be_stopped);

  bool Watch(uv_loop_t* loop, User* user, bool until_ready) override;
  // kFailed also where its launcher is gone: there is no child whose exit could tell why.
  LauncherChannel::Sent SendOrder(std::span<const std::byte> order) override;
  bool takes_order_first() const override { return true; }
  bool IsAlive() override;
  void End() override;
  bool end_is_proof() const override;
  SandboxNetwork* network() const override { return owner_ ? owner_->network() : nullptr; }
  int most_tries() const override { return is_directory_refused_ ? 2 : 1; }

  // The session's launcher is gone; `is_proof`: so are all its processes. Otherwise this is ended
  // by itself, and gone when its launcher's pidfd says so: nobody else would see that end.
  void OnSessionGone(bool is_proof);

 private:
  void NoteReport(const Report& report) override;
  void Insist();
  bool NeverStarts();
  void Settle();
  void SettleAlone();
  void BeGone();
  void HandOnShell();

  std::shared_ptr<Owner> owner_;  // none: it stands
  ShellFile shell_;
  Timer insist_;
  EndWatch end_watch_;
  int silent_turns_ = 0;
  bool may_run_ = false;     // kReady has come, and the command may have processes
  bool has_exited_ = false;  // by itself: before it was told to end
  bool is_directory_refused_ = false;
  bool is_proved_ = false;  // the launcher has said that none is left
  bool is_ending_ = false;
  bool is_orphan_ = false;  // the session can't end it any more
};

// The slots of one session: those that commands are in, and the one that stands for the next.
// Supervisor thread only; owned by its session.
class SessionSlots {
 public:
  explicit SessionSlots(const SupervisorContext& shared) : shared_(shared) {}

  // One for a command that comes now. `sandbox`: the session's. kSetup when there is none.
  Result<std::unique_ptr<SessionSlot>> Take(Sandbox* sandbox);
  // Entered for a command, until OnSlotLeft.
  void Add(SessionSlot* slot) { entered_.insert(slot); }
  void Remove(SessionSlot* slot) { entered_.erase(slot); }

  // Makes the next command's while there is time. One that can't be made is no matter here: the
  // command tries again, and tells why.
  void PrepareNext(Sandbox* sandbox);

  // The session's launcher is gone; `is_proof`: so is all that it has made.
  void OnSessionGone(const std::shared_ptr<SessionSlot::Owner>& owner, bool is_proof);

  std::size_t entered() const { return entered_.size(); }

 private:
  // The user of what stood, for its end.
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
