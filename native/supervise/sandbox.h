#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "policy/report.h"
#include "supervise/child.h"
#include "supervise/control.h"
#include "supervise/handle.h"
#include "supervise/runtime.h"

namespace native_runner {

// The processes that one command is run in, from their spawn to the proof that they are gone: the
// child (bwrap, or the launcher itself), the launcher's control socket and pidfd, and the reading
// ends of stdout and stderr. What is run in it, and how that ends, is for its user to know.
// Supervisor thread only.
//
// It is gone when the child was reaped, the control socket gave end of file (no launcher, no bwrap
// in set-up), and the launcher's pidfd shows it dead, which as pid 1 it can only be after the
// kernel has ended everything else in its pid namespace.
class Sandbox {
 public:
  // Whoever has the sandbox: a pool while it stands, then a run.
  class User {
   public:
    User() = default;
    virtual ~User() = default;
    User(const User&) = delete;
    User& operator=(const User&) = delete;

    // kStanding if it had to wait for its order, kReady, and one of the others.
    virtual void OnReport(const Report& report) = 0;
    // Once, and last; the sandbox may be destroyed in it.
    virtual void OnGone() = 0;
  };

  // Spawns `order`, to which the control socket, stdout and stderr are added. `own_init`: the
  // launcher is going to be pid 1 of its own pid namespace. Nothing is watched yet.
  static Result<std::unique_ptr<Sandbox>> Spawn(SpawnOrder order, bool own_init);
  // Only once it is gone, or before Watch was called.
  ~Sandbox() = default;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // `until_ready`: reports up to kStanding or kReady are told as they come. The others are with a
  // pid namespace told when the child has exited, or when they are asked for: a wake-up less is
  // host CPU saved. Without one the command could stop the child, and only the report tells that it
  // has ended. False: it can't be watched; End() still ends it.
  [[nodiscard]] bool Watch(uv_loop_t* loop, User* user, bool until_ready);
  void set_user(User* user) { user_ = user; }

  pid_t child_pid() const { return child_.pid(); }
  Descriptor TakeStdout() { return std::move(out_); }
  Descriptor TakeStderr() { return std::move(err_); }

  // The descriptor that is to take the place of stdin; before the order.
  Control::Sent SendInput(int descriptor) { return control_.SendInput(descriptor); }
  Control::Sent SendOrder(std::span<const std::byte> order) { return control_.SendOrder(order); }

  // Hands the reports that have arrived to the user, without waiting.
  void Receive();

  // Whether all of it is alive, as far as can be told now. Hands over reports, as Receive does.
  bool IsAlive();

  // Asks for the end of all processes, and sees to it: OnGone follows, possibly from in here.
  void End();

  bool own_init() const { return own_init_; }
  bool has_launcher() const { return has_launcher_; }
  const std::optional<ExitStatus>& child_status() const { return child_status_; }

 private:
  Sandbox(Child child, Control control, bool own_init)
      : child_(std::move(child)), control_(std::move(control)), own_init_(own_init) {}

  bool WatchControl();
  bool WatchChild();
  void OnReport(const Report& report, Descriptor pidfd);
  void OnChildExit();
  void InsistAfter(std::uint64_t delay_ms);
  void Insist();
  void Settle();
  bool LauncherIsGone() const;

  uv_loop_t* loop_ = nullptr;
  User* user_ = nullptr;
  Child child_;
  Control control_;
  Descriptor out_;
  Descriptor err_;
  Descriptor launcher_;  // pidfd, once it has reported
  Poll control_poll_;
  Poll child_poll_;
  Poll launcher_poll_;
  Timer insist_;
  int insisted_ = 0;
  std::optional<ExitStatus> child_status_;
  bool own_init_;
  bool has_launcher_ = false;  // the launcher has spoken: set-up is over
  bool has_ended_ = false;     // its last report has come
  bool control_closed_ = false;
  bool ending_ = false;
};

}  // namespace native_runner
