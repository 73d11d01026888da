#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/result.h"
#include "supervise/os/cgroup.h"
#include "supervise/os/mounts.h"
#include "supervise/sandbox/sandbox.h"

namespace native_runner {

// A sandbox of its own: a child process of ours (bwrap, or the launcher itself) and the launcher.
//
// It is gone when the child was reaped, the control socket gave end of file (no launcher, no bwrap
// in set-up), the pidfds of those that were killed in set-up show their ends, and so does the
// launcher's, which as pid 1 can only be dead after the kernel has ended everything else in its pid
// namespace.
//
// Where the child makes a mount namespace, the launcher gets neither input nor order before its
// mounts are cut off from the host's (mounts.h): it waits for them meanwhile.
class SpawnedSandbox final : public Sandbox {
 public:
  struct Options {
    SpawnOptions spawn;     // to which the control socket, stdout and stderr are added
    bool own_init = false;  // the launcher is going to be pid 1 of its own pid namespace
    std::unique_ptr<Cgroup> cgroup = nullptr;  // or none; joined before the child has children
    Gate gate = {};                            // that holds the child back until then
    std::vector<std::byte> entry = {};       // an order to the child itself, a maker of namespaces
    std::shared_ptr<const void> holds = {};  // let go when the end is proved, as the cgroup is
    // That accepts what connects inside: its listeners come from the child's own order; or none.
    std::unique_ptr<SandboxNetwork> network = nullptr;
    // What its set-up mounts, or mounts upon, on the host; or none.
    std::shared_ptr<const std::vector<std::string>> mounted = {};
    MountTable* host_mounts = nullptr;  // of the host; outlives it. null: nothing is asked of it
  };

  ~SpawnedSandbox() override;

  // Nothing is watched yet, and a child that a gate holds back stays so until it has its order.
  static Result<std::unique_ptr<Sandbox>> Spawn(Options options);

  // With a pid namespace, reports but those that `until_ready` asks for are told when the child has
  // exited, or when they are asked for. Without one the command could stop the child, and only the
  // report tells that it has ended.
  bool Watch(uv_loop_t* loop, User* user, bool until_ready) override;
  LauncherChannel::Sent SendInput(int descriptor) override;
  LauncherChannel::Sent SendOrder(std::span<const std::byte> order) override;
  void SendLease(std::uint64_t until_ns) override;
  bool IsAlive() override;
  void End() override;
  SandboxNetwork* network() const override { return network_.get(); }
  pid_t child_pid() const override { return child_.pid(); }
  std::optional<ExitStatus> child_status() const override { return child_status_; }
  bool MemoryKilled() const override { return cgroup_ && cgroup_->MemoryKilled(); }
  // Its set-up has failed, and meanwhile a file that it mounts, or mounts upon, was replaced on the
  // host: then a mount fails that finds the one that was there before. Or the host's mounts have
  // changed before its own were cut off.
  int most_tries() const override;

 private:
  SpawnedSandbox(Child child, LauncherChannel control, Options options);

  bool OpenGate();
  std::optional<Error> CutOffMounts();
  bool AwaitsMade() const override { return network_ && !network_->is_complete(); }
  void NoteMade(std::vector<Descriptor> made) override;
  void Refuse(Layer layer, const std::string& reason);
  bool WatchChannel();
  bool WatchChild();
  void NoteReport(const Report& report) override;
  void OnChildExit();
  void InsistAfter(std::uint64_t delay_ms);
  void Insist();
  bool IsPatient();
  void Settle();

  Child child_;
  std::unique_ptr<Cgroup> cgroup_;
  Gate gate_;
  std::shared_ptr<const void> holds_;
  std::unique_ptr<SandboxNetwork> network_;
  std::shared_ptr<const std::vector<std::string>> mounted_;
  timespec spawned_at_{};  // CLOCK_REALTIME
  MountTable* host_mounts_;
  std::optional<std::uint64_t> mount_changes_;  // as it was spawned
  bool mounts_changed_ = false;                 // between then and the cut
  Poll child_poll_;
  Timer insist_;
  EndWatch end_watch_;
  int insisted_ = 0;
  int silent_turns_ = 0;
  std::optional<ExitStatus> child_status_;
  bool ending_ = false;
  bool has_order_ = false;
  bool until_ready_ = false;     // somebody waits for kReady
  bool keeps_messages_ = false;  // until the launcher's mounts are cut off; these meanwhile
  Descriptor input_;
  std::vector<std::byte> order_;
  std::optional<std::uint64_t> lease_until_ns_;
};

}  // namespace native_runner
