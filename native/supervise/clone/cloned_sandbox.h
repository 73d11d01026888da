#pragma once

#include <memory>
#include <vector>

#include "supervise/clone/sandbox_template.h"
#include "supervise/sandbox/channels.h"
#include "supervise/sandbox/end_watch.h"
#include "supervise/sandbox/sandbox.h"

namespace native_runner {

// A sandbox that a template makes: a launcher that is process 1 of a pid namespace of its own, and
// no child of ours. It is gone when the control socket gave end of file and the launcher's pidfd
// shows it dead, which it can only be after the kernel has ended everything else in there; it runs
// no command before we have that pidfd (launcher/order/control.h).
class ClonedSandbox final : public Sandbox {
 public:
  // The template has been asked for it.
  ClonedSandbox(std::shared_ptr<SandboxTemplate> origin, Channels channels, const CloneAsk& ask);
  ~ClonedSandbox() override;

  bool Watch(uv_loop_t* loop, User* user, bool until_ready) override;
  // The template is at work meanwhile: it is to find the order when it comes to that.
  bool takes_order_first() const override { return true; }
  bool IsAlive() override;
  void End() override;
  SandboxNetwork* network() const override { return network_.get(); }
  bool MemoryKilled() const override { return cgroup_ && cgroup_->MemoryKilled(); }
  // No command was started, for a reason that is the template's, or because it was ended from
  // outside.
  int most_tries() const override { return is_ready_ || ending_ || is_orders_fault_ ? 1 : 2; }

 private:
  bool AwaitsMade() const override { return network_ && !network_->is_complete(); }
  void NoteMade(std::vector<Descriptor> made) override;
  void NoteReport(const Report& report) override;
  bool WatchControl();
  void InsistAfter(std::uint64_t delay_ms);
  void Insist();
  void Settle();

  std::shared_ptr<SandboxTemplate> origin_;
  std::unique_ptr<Cgroup> cgroup_;
  std::unique_ptr<SandboxNetwork> network_;
  std::shared_ptr<const void> holds_;
  Timer insist_;
  EndWatch end_watch_;
  int silent_turns_ = 0;
  bool is_ready_ = false;
  bool is_orders_fault_ = false;  // it was refused for what the order says
  bool ending_ = false;
};

}  // namespace native_runner
