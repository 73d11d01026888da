#pragma once

#include <memory>

#include "supervise/sandbox/end_watch.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/session/kept_shell.h"

namespace native_runner {

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
  SessionSlot(Control control, Descriptor out, Descriptor err);
  ~SessionSlot() override;

  // It is to be a command's. `may_be_stopped`: by a command that is over.
  void Enter(std::shared_ptr<Owner> owner, ShellFile shell, bool may_be_stopped);

  bool Watch(uv_loop_t* loop, User* user, bool until_ready) override;
  // kFailed also where its launcher is gone: there is no child whose exit could tell why.
  Control::Sent SendOrder(std::span<const std::byte> order) override;
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

}  // namespace native_runner
