#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "supervise/os/handle.h"
#include "supervise/preparation/runtime.h"
#include "supervise/preparation/session_opener.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/session/command_template.h"
#include "supervise/session/kept_shell.h"
#include "supervise/session/session_rule.h"
#include "supervise/session/session_slots.h"
#include "supervise/streams/capture.h"

namespace native_runner {

// A sandbox that is kept for many commands. Its launcher makes a process for each, which is a
// launcher to that command (launcher/session.h); the sandbox's own end is the end of them all, and
// the way out whenever the end of one can't be proved. Supervisor thread only; shared by its
// runtime, the supervisor and the runs in it.
class Session : public OwnedSession,
                public std::enable_shared_from_this<Session>,
                private Sandbox::User,
                private SessionSlot::Owner {
 public:
  Session(Shared& shared, std::shared_ptr<const Runtime> runtime, SessionRule rule,
          Listener listener);
  ~Session() override;

  void Open() override;
  void Close(const std::string& reason) override;

  // What calls are rejected with once it has ended.
  static Error SessionEnded(const std::string& reason);

  // How one command is to be run in it. kClosed when it has ended.
  Result<Preparation> Plan(const ExecRequest& request);

  PortState LookForPort(std::uint16_t port) const override;

  // A slot for a command that was planned, with what its plan says of a shell. kSetup when there is
  // none.
  Result<std::unique_ptr<Sandbox>> Enter(ShellPart shell);

 private:
  enum class Phase { kNew, kOpening, kOpen, kClosing, kGone };

  // Of its slots.
  void OnOrderSent() override;
  void OnDirectoryRefused(const ShellFile& refused) override;
  void OnShellLeft(const ShellFile& left) override { shell_.Adopt(left); }
  void OnUnproved() override;
  void OnSlotLeft(SessionSlot* slot) override;
  bool end_is_proof() const override { return sandbox_ && sandbox_->end_is_proof(); }
  SandboxNetwork* network() const override { return sandbox_ ? sandbox_->network() : nullptr; }

  // Of its own sandbox.
  void OnReport(const Report& report) override;
  void OnGone() override;

  void Prepare();
  void Spawn(Preparation preparation);
  void OnReady(const Report& report);
  std::shared_ptr<SessionSlot::Owner> AsOwner();
  void Finish();
  void FailToOpen(const Error& error);
  void CheckMasks();
  std::string SetupErrorText() const;
  void EndWhenUnused();
  bool HasRunAll() const;
  std::string RunAll() const;
  void WatchIdleness();

  Shared& shared_;
  std::shared_ptr<const Runtime> runtime_;
  SessionRule rule_;
  Listener listener_;
  Phase phase_ = Phase::kNew;
  bool has_opened_ = false;
  int tries_ = 1;               // the set-ups of those before this one have failed
  bool is_separating_ = false;  // no command can signal what is not its own
  bool is_proved_ = false;      // its launcher has said that nothing is left
  std::string reason_;
  std::shared_ptr<Session> self_;  // while there are processes

  CommandTemplate template_;
  std::shared_ptr<const std::vector<std::string>> mount_points_;  // or none
  std::string mounted_upon_;
  std::unique_ptr<Sandbox> sandbox_;
  std::optional<Capture> setup_stderr_;
  SessionSlots slots_;
  std::uint64_t commands_ = 0;
  KeptShell shell_;
  Timer idle_;
};

}  // namespace native_runner
