#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "supervise/os/handle.h"
#include "supervise/preparation/backend.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/session/session_slot.h"
#include "supervise/streams/output.h"

namespace native_runner {

// What a session is to be.
struct SessionRule {
  std::uint64_t idle_ms = 0;       // without a command, after which it ends; 0: never
  std::uint64_t max_commands = 0;  // after which it ends; 0: any number
  std::uint64_t tmp_bytes = 0;     // of its private /tmp; 0: no limit
  std::uint64_t clones_of = 0;  // the pool whose template its sandbox may be cloned from; 0: none
  bool keeps_shell = false;     // cwd and variables pass from one shell command to the next
};

// What the commands of a session have in common: what is left of the preparation that its sandbox
// was spawned by.
class CommandTemplate {
 public:
  CommandTemplate() = default;
  // `of_session`: also the part of a plan that is the session's own.
  explicit CommandTemplate(const Preparation& of_session);

  const RunRecord& record() const { return record_; }

  // Adds the layers that its launcher has found to be in force.
  void AddEnforced(LayerSet enforced);

  // One command, without its slot. `cwd`: where it starts; `others`: launchers of commands that
  // RLIMIT_NPROC counts too. kSetup when a limit can't be enforced.
  Result<Preparation> Make(const ExecRequest& request, std::string cwd, std::size_t others) const;

  // A directory below the workspace, as the command sees it.
  std::string InWorkspace(const std::string& relative) const;

 private:
  std::uint32_t flags_ = 0;
  RunRecord record_;
  std::string workspace_;
  std::shared_ptr<const DenialScene> scene_;
  bool counts_processes_ = false;
};

// A sandbox that is kept for many commands. Its launcher makes a process for each, which is a
// launcher to that command (launcher/session.h); the sandbox's own end is the end of them all, and
// the way out whenever the end of one can't be proved. Supervisor thread only; shared by its
// runtime, the supervisor and the runs in it.
class Session : public OwnedSession,
                public std::enable_shared_from_this<Session>,
                private Sandbox::User,
                private SessionSlot::Owner {
 public:
  Session(SupervisorContext& shared, std::shared_ptr<const Backend> runtime, SessionRule rule,
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

  SupervisorContext& shared_;
  std::shared_ptr<const Backend> runtime_;
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
  SessionShell shell_;
  Timer idle_;
};

// Commands in one session of another runtime's. The session is made and used on the supervisor
// thread; this may be let go on any.
class SessionBackend final : public Backend, public SessionOpener {
 public:
  SessionBackend(std::shared_ptr<const Backend> inner, SessionRule rule)
      : inner_(std::move(inner)), rule_(rule) {}

  std::shared_ptr<OwnedSession> Make(SupervisorContext& shared,
                                     OwnedSession::Listener listener) const override;

  RunRecord Unprepared(const ExecRequest& request) const override;
  void Prepare(const ExecRequest& request, SupervisorContext& shared, Ready ready) const override;

 private:
  std::shared_ptr<const Backend> inner_;
  SessionRule rule_;
  mutable std::weak_ptr<Session> session_;  // supervisor thread; the supervisor owns it
  std::shared_ptr<std::string> ended_ = std::make_shared<std::string>();  // why; as above
};

}  // namespace native_runner
