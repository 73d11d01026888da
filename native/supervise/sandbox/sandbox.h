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
#include "supervise/network/sandbox_network.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/handle.h"
#include "supervise/os/process.h"
#include "supervise/sandbox/launcher_channel.h"
#include "supervise/sandbox/port_waits.h"

namespace native_runner {

// Looks at a launcher that was told to end its tree and has not said yet that it has. A process
// that has touched gigabytes takes seconds to die, and everything takes longer on a busy host: so
// what decides whether a launcher is given up is not time, but what it is seen to do.
class EndWatch {
 public:
  enum class Seen {
    kDying,    // a process of its tree is dying, or it is itself
    kWorking,  // it runs, waits for the kernel, or has done something since it was last looked at
    kSilent,   // it is stopped, or waits for nothing that could come; or it can't be seen
  };

  // `launcher`: its pidfd.
  Seen Look(int launcher);

 private:
  std::uint64_t steps_ = 0;  // CPU time and waits of the launcher, at the last look
};

// Kills every process that holds the socket `inode` as its descriptor kControlDescriptor: the parts
// of a bwrap that is stuck in its set-up, where killing bwrap alone leaves its children behind.
// Each is pinned by a pidfd and looked at again before it is signalled; also where /proc is that of
// an outer pid namespace, with other numbers than ours. All are found before the first is killed: a
// child dies with its parent. Returns their pidfds; call again until the control socket reports end
// of file. A process lets go of that in the midst of its exit: that each pidfd shows its end, too,
// is the proof. Reads /proc: meant for the rare case, not for each run. Any thread.
std::vector<Descriptor> KillSocketHolders(ino_t inode);

// Holds a spawned child back until it has been put into its cgroup: writing `bytes` lets it go.
struct Gate {
  Descriptor descriptor;
  std::string bytes;
};

// Where a run's sandbox came from.
enum class SandboxStart {
  kCold,       // it was made for the run, or the run had none
  kCloned,     // it was cloned from a template (SandboxTemplate), for the run
  kPrewarmed,  // it stood, or was begun, before the command was known
  kSession,    // it is a session's
};

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
  virtual LauncherChannel::Sent SendInput(int descriptor) { return control_.SendInput(descriptor); }
  virtual LauncherChannel::Sent SendOrder(std::span<const std::byte> order) {
    return control_.SendOrder(order);
  }
  // A launcher stands and waits for the order: to be sent first of all, what is done before it
  // keeps the command waiting.
  virtual bool takes_order_first() const { return false; }

  // Where the order made it a session: another command, as kCommandMessage says.
  LauncherChannel::Sent SendCommand(std::span<const int, kCommandDescriptors> descriptors) {
    return control_.SendCommand(descriptors);
  }

  // Where the order made it a template: a clone, as kCloneMessage says.
  LauncherChannel::Sent SendClone(const CloneRequest& request,
                                  std::span<const int, kCommandDescriptors> descriptors,
                                  int cgroup) {
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
  // What was told to end, or was seen to, and is not gone after that: when it is looked after for
  // the first time, and how often then.
  static constexpr std::uint64_t kInsistAfterMs = 200;
  static constexpr std::uint64_t kInsistEveryMs = 50;

  explicit Sandbox(LauncherChannel control) : control_(std::move(control)) {}

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
  LauncherChannel control_;
  Descriptor out_;
  Descriptor err_;
  Descriptor terminal_;             // its master side
  Descriptor launcher_;             // pidfd, once it has reported
  std::vector<Descriptor> killed_;  // pidfds, until each has ended
  Poll channel_poll_;
  Poll rest_poll_;
  bool own_init_ = false;
  bool has_launcher_ = false;  // the launcher has spoken: set-up is over
  bool has_ended_ = false;     // its last report has come
  bool channel_closed_ = false;
};

// Where a run's sandbox comes from: one is spawned, one was made ahead, or a session has a place.
// Asked once, on the supervisor thread.
class SandboxSource {
 public:
  SandboxSource() = default;
  virtual ~SandboxSource() = default;
  SandboxSource(const SandboxSource&) = delete;
  SandboxSource& operator=(const SandboxSource&) = delete;

  // A sandbox for one command, to be watched next; or why there is none. Takes `input`, the reading
  // end of the command's stdin, where a sandbox is born with it: what is left of it is to be sent.
  virtual Result<std::unique_ptr<Sandbox>> Acquire(Descriptor* input) = 0;

  // Adds to the order of a command what its launcher is to check besides; before Acquire, which
  // then makes a sandbox for that order.
  virtual void Complete(OrderHeader* /*order*/) {}

  // Where the sandbox of Acquire came from. kPrewarmed: it was made before its run, and may have
  // died, or may yet fail its set-up, for reasons that are not the run's.
  virtual SandboxStart start() const { return SandboxStart::kCold; }

  // Why it is cold, where it might have been a clone; else empty.
  virtual std::string cold_reason() const { return {}; }
};

}  // namespace native_runner
