#pragma once

#include <memory>

#include "supervise/sandbox.h"

namespace native_runner {

class Session;

// The place of one command in a session. Its processes are known to be gone when their launcher has
// said so: it is a subreaper (prctl(2)) that had no child left. One that ends without a word may
// leave some behind; then the whole session is ended, and that is the proof.
class EnteredSandbox final : public Sandbox {
 public:
  // The command's ends of what we keep.
  struct Ends {
    Descriptor control;
    Descriptor out;
    Descriptor err;
  };
  // A shell's: a file that begins with what it is given.
  struct State {
    Descriptor file;
    std::size_t given = 0;
  };
  // `state` may be none. `null_device`: stdin where no other is sent.
  EnteredSandbox(std::shared_ptr<Session> session, Control control, Ends given, State state,
                 int null_device);
  ~EnteredSandbox() override;

  void set_outputs(Descriptor out, Descriptor err) {
    out_ = std::move(out);
    err_ = std::move(err);
  }

  bool Watch(uv_loop_t* loop, User* user, bool until_ready) override;
  Control::Sent SendInput(int descriptor) override;
  // The command comes into being with its order: that is on the socket before the launcher is.
  Control::Sent SendOrder(std::span<const std::byte> order) override;
  bool IsAlive() override;
  void End() override;
  bool end_is_proof() const override;

  // The session's last process is gone.
  void OnSessionGone();

 private:
  void NoteReport(const Report& report) override;
  void Insist();
  void Settle();
  void BeGone();

  std::shared_ptr<Session> session_;
  Ends given_;
  Descriptor input_;
  State state_;
  int null_device_;
  Timer insist_;
  int insisted_ = 0;
  bool is_handed_ = false;
  bool may_run_ = false;    // kReady has come, and the command may have processes
  bool is_proved_ = false;  // the launcher has said that none is left
  bool is_ending_ = false;
};

}  // namespace native_runner
