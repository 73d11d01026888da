#pragma once

#include <memory>

#include "supervise/sandbox/sandbox.h"

namespace native_runner {

class Session;

// The place of one command in a session. Its processes are known to be gone when their launcher has
// said so: it is a subreaper (prctl(2)) that had no child left. One that ends without a word may
// leave some behind; then the whole session is ended, and that is the proof.
//
// It can stand before there is a command, with a launcher that waits for the order. Nobody watches
// it then: who wants it asks whether it is alive.
class SessionSlot final : public Sandbox {
 public:
  // A shell's: a file that begins with what it is given.
  struct State {
    Descriptor file;
    std::size_t given = 0;
    bool is_in_its_directory = false;
  };
  // `control`: its launcher has the other end, or is going to.
  SessionSlot(Control control, Descriptor out, Descriptor err);
  ~SessionSlot() override;

  // It is to be a command's. `state` may be none. `may_be_stopped`: by a command that is over.
  void Enter(std::shared_ptr<Session> session, State state, bool may_be_stopped);

  bool Watch(uv_loop_t* loop, User* user, bool until_ready) override;
  Control::Sent SendOrder(std::span<const std::byte> order) override;
  bool IsAlive() override;
  void End() override;
  bool end_is_proof() const override;

  // The session's launcher is gone; `is_proof`: so are all its processes. Otherwise this is ended
  // by itself, and gone when its launcher's pidfd says so: nobody else would see that end.
  void OnSessionGone(bool is_proof);

 private:
  void NoteReport(const Report& report) override;
  void Insist();
  void Settle();
  void SettleAlone();
  void BeGone();

  std::shared_ptr<Session> session_;  // none: it stands
  State state_;
  Timer insist_;
  int insisted_ = 0;
  bool may_run_ = false;    // kReady has come, and the command may have processes
  bool is_proved_ = false;  // the launcher has said that none is left
  bool is_ending_ = false;
  bool is_orphan_ = false;  // the session can't end it any more
};

}  // namespace native_runner
