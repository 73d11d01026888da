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

// A sandbox of its own: our child process (bwrap, or the launcher itself) and the launcher.
//
// It is gone when the child was reaped, the control socket has reported end of file (no launcher,
// no bwrap in set-up), and the pidfds of the processes killed in set-up and of the launcher show
// their ends. A launcher that is pid 1 can only be dead after the kernel has ended everything else
// in its pid namespace.
//
// If the child makes a mount namespace, the launcher gets neither input nor order before its mounts
// are cut off from the host's (mounts.h): it waits for them meanwhile.
class SpawnedSandbox final : public Sandbox {
 public:
  struct Options {
    SpawnOptions spawn;     // the control socket, stdout and stderr are added to it
    bool own_init = false;  // the launcher will be pid 1 of its own pid namespace
    std::unique_ptr<Cgroup> cgroup = nullptr;  // or null; joined before the child has children
    Gate gate = {};                            // holds the child back until then
    std::vector<std::byte> entry = {};       // an order to the child itself, which makes namespaces
    std::shared_ptr<const void> holds = {};  // released when the end is proved, as the cgroup is
    // Accepts connections from inside: its listeners come from the child's own order; or null.
    std::unique_ptr<SandboxNetwork> network = nullptr;
    // Host paths that its set-up mounts, or mounts over; or null.
    std::shared_ptr<const std::vector<std::string>> mounted = {};
    MountTable* host_mounts = nullptr;  // the host's; outlives this. nullptr: not consulted
  };

  ~SpawnedSandbox() override;

  // Starts no watch; a child behind a gate is held back until it has its order.
  static Result<std::unique_ptr<Sandbox>> Spawn(Options options);

  // With a pid namespace, reports other than those requested by `until_ready` are delivered when
  // the child has exited, or on request. Without one the command could stop the child, and only the
  // report shows that it has ended.
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
  // More than 1 if its set-up failed and meanwhile a file that it mounts, or mounts over, was
  // replaced on the host (a mount that still finds the old file fails), or if the host's mounts
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
  std::optional<std::uint64_t> mount_changes_;  // at its spawn
  bool mounts_changed_ = false;                 // since the spawn, before the cut
  Poll child_poll_;
  Timer insist_;
  EndWatch end_watch_;
  int insisted_ = 0;
  int silent_turns_ = 0;
  std::optional<ExitStatus> child_status_;
  bool ending_ = false;
  bool has_order_ = false;
  bool until_ready_ = false;     // the user waits for kReady
  bool keeps_messages_ = false;  // until the launcher's mounts are cut off; the messages are below
  Descriptor input_;
  std::vector<std::byte> order_;
  std::optional<std::uint64_t> lease_until_ns_;
};

}  // namespace native_runner
