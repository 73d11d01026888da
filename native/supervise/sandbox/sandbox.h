#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "protocol/report.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/os/child.h"
#include "supervise/os/handle.h"
#include "supervise/sandbox/control.h"
#include "supervise/sandbox/end_watch.h"
#include "supervise/sandbox/port_waits.h"

namespace native_runner {

// The processes that one command is run in, from their start to the proof that they are gone: a
// launcher with its control socket and pidfd, the reading ends of stdout and stderr, and what a
// kind adds. What is run in it, and how that ends, is for its user to know. Supervisor thread only.
class Sandbox {
 public:
  // Whoever has the sandbox: a pool while it stands, then a run; or a session.
  class User {
   public:
    User() = default;
    virtual ~User() = default;
    User(const User&) = delete;
    User& operator=(const User&) = delete;

    // kAwaitingOrder if it had to wait for its order, kTerminal if it was to make one, kReady, and
    // one of the others.
    virtual void OnReport(const Report& report) = 0;
    // What the command was refused: the records of a kObserved, of which OnReport is not called.
    virtual void OnObserved(std::span<const std::byte> /*records*/, std::uint64_t /*omitted*/) {}
    // Once, and last; the sandbox may be destroyed in it.
    virtual void OnGone() = 0;
  };

  // Only once it is gone, or before Watch was called.
  virtual ~Sandbox() = default;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // `until_ready`: reports up to kReady, or to kAwaitingOrder while no order was sent, are told as
  // they come, which a kind need not do otherwise: a wake-up less is host CPU saved. Called again,
  // it hands the sandbox to another user, or watches until ready once more. False: it can't be
  // watched; End() still ends it.
  [[nodiscard]] virtual bool Watch(uv_loop_t* loop, User* user, bool until_ready) = 0;

  Descriptor TakeStdout() { return std::move(out_); }
  Descriptor TakeStderr() { return std::move(err_); }
  Descriptor TakeTerminal() { return std::move(terminal_); }  // from kTerminal on

  // The descriptor that is to take the place of stdin; before the order.
  virtual Control::Sent SendInput(int descriptor) { return control_.SendInput(descriptor); }
  virtual Control::Sent SendOrder(std::span<const std::byte> order) {
    return control_.SendOrder(order);
  }
  // A launcher stands and waits for the order: to be sent first of all, what is done before it
  // keeps the command waiting.
  virtual bool takes_order_first() const { return false; }

  // Where the order made it a session: another command, as kCommandMessage says.
  Control::Sent SendCommand(std::span<const int, kCommandDescriptors> descriptors) {
    return control_.SendCommand(descriptors);
  }

  // Where the order made it a template: a clone, as kCloneMessage says.
  Control::Sent SendClone(const CloneRequest& request,
                          std::span<const int, kCommandDescriptors> descriptors, int cgroup) {
    return control_.SendClone(request, descriptors, cgroup);
  }

  // To the command's process group, if it has one of its own; from kReady on.
  void SendSignal(int signal) { control_.SendSignal(signal); }

  // Until when the lease of the order holds now; after SendOrder with one that has a lease.
  virtual void SendLease(std::uint64_t until_ns) { control_.SendLease(until_ns); }

  // Whether something listens on a TCP port inside; from kReady on.
  PortState LookForPort(std::uint16_t port) const;

  // Hands the reports that have arrived to the user, if there is one yet, without waiting.
  void Receive();

  // Whether all of it is alive, as far as can be told now. Hands over reports, as Receive does.
  virtual bool IsAlive() = 0;

  // Whether its launcher does nothing, as far as `watch` has seen; then it is sent SIGCONT.
  bool WakeIfSilent(EndWatch* watch) const;

  // Asks for the end of all processes, and sees to it: OnGone follows, possibly from in here.
  virtual void End() = 0;

  // What commands reach by domain; nullptr: nothing is by domain. Of a session, all its commands'.
  virtual SandboxNetwork* network() const { return nullptr; }

  // The launcher is pid 1 of a pid namespace that nothing else is in.
  bool own_init() const { return own_init_; }
  bool has_launcher() const { return has_launcher_; }
  // That it is gone proves that nothing of the command is left, also where no report said so.
  virtual bool end_is_proof() const { return own_init_; }
  // The process that we spawned for it, and its end; a command in a session has none.
  virtual pid_t child_pid() const { return -1; }
  virtual std::optional<ExitStatus> child_status() const { return std::nullopt; }
  // The kernel has ended one of its processes for want of memory, under a limit of its own.
  virtual bool MemoryKilled() const { return false; }
  // How often one like it may be made in all. More than once: it is gone, or is going, without a
  // command, for a reason that may not be there the next time.
  virtual int most_tries() const { return 1; }

 protected:
  explicit Sandbox(Control control) : control_(std::move(control)) {}

  // Calls back when a process that AllAreGone waits for has ended.
  void WatchRest(Poll::Callback on_end);
  // Also true where there is no pidfd to ask.
  bool LauncherIsGone() const;
  // Kills who holds the control socket. False: nobody was found.
  bool KillHolders();
  // So is the launcher, and whoever KillHolders has killed.
  bool AllAreGone();

  // Before the user hears of it.
  virtual void NoteReport(const Report& report) = 0;

  // Whether a message with several descriptors is awaited; what has come with one, of which the
  // user hears nothing.
  virtual bool AwaitsMade() const { return false; }
  virtual void NoteMade(std::vector<Descriptor> /*made*/) {}

  uv_loop_t* loop_ = nullptr;
  User* user_ = nullptr;
  Control control_;
  Descriptor out_;
  Descriptor err_;
  Descriptor terminal_;             // its master side
  Descriptor launcher_;             // pidfd, once it has reported
  std::vector<Descriptor> killed_;  // pidfds, until each has ended
  Poll control_poll_;
  Poll rest_poll_;
  bool own_init_ = false;
  bool has_launcher_ = false;  // the launcher has spoken: set-up is over
  bool has_ended_ = false;     // its last report has come
  bool control_closed_ = false;
};

}  // namespace native_runner
