#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/result.h"
#include "protocol/order.h"
#include "protocol/report.h"
#include "supervise/network/forward.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/os/process.h"
#include "supervise/sandbox/launcher_channel.h"
#include "supervise/sandbox/port_waits.h"

namespace native_runner {

// Observes a launcher that was ordered to end its tree and has not reported the end yet. A process
// that has touched gigabytes takes seconds to die, and everything takes longer on a busy host, so a
// launcher is given up by its observed activity, not by elapsed time.
class EndWatch {
 public:
  enum class Seen {
    kDying,    // the launcher or a process of its tree is dying
    kWorking,  // it runs, waits for the kernel, or has done something since the last look
    kSilent,   // it is stopped, waits without progress, or can't be seen
  };

  // `launcher`: its pidfd.
  Seen Look(int launcher);

 private:
  std::uint64_t steps_ = 0;  // CPU time and waits of the launcher, at the last look
};

// Kills every process that holds the socket `inode` as its descriptor kControlDescriptor: the parts
// of a bwrap that is stuck in its set-up, where killing bwrap alone leaves its children behind.
// Each is pinned by a pidfd and checked again before it is signalled; this also works if /proc is
// that of an outer pid namespace, with other numbers than ours. All are found before the first is
// killed, since a child dies with its parent. Returns their pidfds; call again until the control
// socket reports end of file. A process closes its socket in the midst of its exit, so only the end
// of each pidfd is the proof. Reads all of /proc: for the rare case, not for each run. Any thread.
std::vector<Descriptor> KillSocketHolders(ino_t inode);

// Holds a spawned child back until it is in its cgroup: writing `bytes` releases it.
struct Gate {
  Descriptor descriptor;
  std::string bytes;
};

// The origin of a run's sandbox.
enum class SandboxStart {
  kCold,       // made for the run; also if the run had no sandbox
  kCloned,     // cloned from a template (SandboxTemplate) for the run
  kPrewarmed,  // made, or begun, before the command was known
  kSession,    // the session's sandbox
};

// The processes that run one command, from their start to the proof that they are gone: a launcher
// with its control socket and pidfd, the reading ends of stdout and stderr, and the additions of
// each subclass. The sandbox's user tracks the command and how it ends. Supervisor thread only.
class Sandbox {
 public:
  // The owner of a sandbox: a pool while it is prewarmed, then a run; or a session.
  class User {
   public:
    User() = default;
    virtual ~User() = default;
    User(const User&) = delete;
    User& operator=(const User&) = delete;

    // Receives kAwaitingOrder if the launcher waited for its order, kTerminal if it made a
    // terminal, kReady, and one of the last kinds.
    virtual void OnReport(const Report& report) = 0;
    // Receives the records of a kObserved report (the command's refused calls), for which OnReport
    // is not called.
    virtual void OnObserved(std::span<const std::byte> /*records*/, std::uint64_t /*omitted*/) {}
    // Called once, last; may destroy the sandbox.
    virtual void OnGone() = 0;
  };

  // Only after OnGone, or before Watch was called.
  virtual ~Sandbox() = default;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Starts watching. `until_ready`: delivers reports up to kReady (up to kAwaitingOrder if no order
  // was sent) as they arrive; otherwise a subclass may delay them, since each wake-up costs host
  // CPU. Calling it again hands the sandbox to another user, or watches until ready once more.
  // Returns false if watching fails; End() still ends the sandbox.
  [[nodiscard]] virtual bool Watch(uv_loop_t* loop, User* user, bool until_ready) = 0;

  Descriptor TakeStdout() { return std::move(out_); }
  Descriptor TakeStderr() { return std::move(err_); }
  Descriptor TakeTerminal() { return std::move(terminal_); }  // from kTerminal on

  // Sends the descriptor that replaces stdin; before the order.
  virtual LauncherChannel::Sent SendInput(int descriptor) { return control_.SendInput(descriptor); }
  virtual LauncherChannel::Sent SendOrder(std::span<const std::byte> order) {
    return control_.SendOrder(order);
  }
  // Returns true if a launcher already waits for the order: send it before anything else, as any
  // delay delays the command.
  virtual bool takes_order_first() const { return false; }

  // Sends another command (kCommandMessage); only if the order made it a session.
  LauncherChannel::Sent SendCommand(std::span<const int, kCommandDescriptors> descriptors) {
    return control_.SendCommand(descriptors);
  }

  // Requests a clone (kCloneMessage); only if the order made it a template.
  LauncherChannel::Sent SendClone(const CloneRequest& request,
                                  std::span<const int, kCommandDescriptors> descriptors,
                                  int cgroup) {
    return control_.SendClone(request, descriptors, cgroup);
  }

  // Signals the command's process group, if it has its own; from kReady on.
  void SendSignal(int signal) { control_.SendSignal(signal); }

  // Extends the order's lease until this time; after SendOrder with an order that has a lease.
  virtual void SendLease(std::uint64_t until_ns) { control_.SendLease(until_ns); }

  // Returns kListening if a process inside listens on a TCP port; from kReady on.
  PortState LookForPort(std::uint16_t port) const;

  // Hands the reports that have arrived to the user, if there is a user, without waiting.
  void Receive();

  // Returns true if all of it is alive, as far as can be seen now. Hands over reports, as Receive
  // does.
  virtual bool IsAlive() = 0;

  // Returns true if `watch` sees the launcher silent, and then sends it SIGCONT.
  bool WakeIfSilent(EndWatch* watch) const;

  // Ends all processes, insisting as needed; OnGone follows, possibly before this returns.
  virtual void End() = 0;

  // Returns the network by domain, a session's for all its commands; nullptr if the network is not
  // by domain.
  virtual SandboxNetwork* network() const { return nullptr; }

  // Returns the forwards of host ports into it, a session's for all its commands; nullptr before
  // MakeForwards.
  virtual Forwards* forwards() const { return forwards_.get(); }
  // Only from kReady on.
  virtual Forwards* MakeForwards();

  // The launcher's pidfd, or -1 before it has reported.
  int launcher_pidfd() const { return launcher_.get(); }
  // The pidfd of a process that has the command's mounts, or -1.
  virtual int mounts_pidfd() const { return launcher_.get(); }

  // True if the launcher is pid 1 of a pid namespace of its own.
  bool own_init() const { return own_init_; }
  bool has_launcher() const { return has_launcher_; }
  // True if the end of the sandbox proves that nothing of the command is left, even without a
  // report.
  virtual bool end_is_proof() const { return own_init_; }
  // The process that we spawned for it, and its exit status; a command in a session has none.
  virtual pid_t child_pid() const { return -1; }
  virtual std::optional<ExitStatus> child_status() const { return std::nullopt; }
  // True if the kernel killed one of its processes for lack of memory under its own limit.
  virtual bool MemoryKilled() const { return false; }
  // Returns how many sandboxes may be made in all for one run. More than 1: this one ended, or is
  // ending, without a command, for a reason that may not recur.
  virtual int most_tries() const { return 1; }

 protected:
  // Delay until the first check of a sandbox that was ordered or seen to end and is not gone, and
  // the interval of further checks.
  static constexpr std::uint64_t kInsistAfterMs = 200;
  static constexpr std::uint64_t kInsistEveryMs = 50;

  explicit Sandbox(LauncherChannel control) : control_(std::move(control)) {}

  // Calls `on_end` when a process that AllAreGone waits for has ended.
  void WatchRest(Poll::Callback on_end);
  // Also returns true if there is no pidfd.
  bool LauncherIsGone() const;
  // Kills the processes that hold the control socket. Returns false if none was found.
  bool KillHolders();
  // Returns true if the launcher and all processes that KillHolders has killed are gone.
  bool AllAreGone();

  // Called before the user receives the report.
  virtual void NoteReport(const Report& report) = 0;

  // True while a message with several descriptors is expected; NoteMade receives them, and the user
  // is not notified.
  virtual bool AwaitsMade() const { return false; }
  virtual void NoteMade(std::vector<Descriptor> /*made*/) {}

  uv_loop_t* loop_ = nullptr;
  User* user_ = nullptr;
  LauncherChannel control_;
  Descriptor out_;
  Descriptor err_;
  Descriptor terminal_;             // master side
  Descriptor launcher_;             // pidfd, once the launcher has reported
  std::vector<Descriptor> killed_;  // pidfds, until each has ended
  Poll channel_poll_;
  Poll rest_poll_;
  bool own_init_ = false;
  bool has_launcher_ = false;  // the launcher has reported: set-up is over
  bool has_ended_ = false;     // the last report has arrived
  bool channel_closed_ = false;

 private:
  std::unique_ptr<Forwards> forwards_;
};

// The source of a run's sandbox: spawns one, takes a prewarmed one, or enters a session. Used once,
// on the supervisor thread.
class SandboxSource {
 public:
  SandboxSource() = default;
  virtual ~SandboxSource() = default;
  SandboxSource(const SandboxSource&) = delete;
  SandboxSource& operator=(const SandboxSource&) = delete;

  // Returns a sandbox for one command, to be watched next, or the reason for having none. Takes
  // `input`, the reading end of the command's stdin, if the sandbox is started with it; send it
  // later if it is still valid. Adds to `order`, the command's, what the launcher of this sandbox
  // has to check; nullptr: the order is not known yet.
  virtual Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* input, OrderHeader* order) = 0;

  // Returns the origin of Acquire's sandbox. kPrewarmed: it was made before its run, and may have
  // died, or may yet fail its set-up, for reasons unrelated to the run.
  virtual SandboxStart start() const { return SandboxStart::kCold; }

  // Returns why it is cold though a clone was possible; else empty.
  virtual std::string cold_reason() const { return {}; }
};

}  // namespace native_runner
