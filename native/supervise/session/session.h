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

// Settings of a session.
struct SessionRule {
  std::uint64_t idle_ms = 0;       // time without a command until it ends; 0: unlimited
  std::uint64_t max_commands = 0;  // number of commands until it ends; 0: unlimited
  std::uint64_t tmp_bytes = 0;     // size of its private /tmp; 0: unlimited
  std::uint64_t clones_of = 0;     // pool whose template its sandbox may be cloned from; 0: none
  bool keeps_shell = false;        // cwd and variables pass from one shell command to the next
};

// The common part of a session's commands, taken from the preparation of its sandbox.
class CommandTemplate {
 public:
  CommandTemplate() = default;
  // `of_session`: the session's preparation, including its spawn plan.
  explicit CommandTemplate(const Preparation& of_session);

  const RunRecord& record() const { return record_; }

  // Adds the layers that its launcher reports to be in force.
  void AddEnforced(LayerSet enforced);

  // Returns the preparation of one command, without its slot. `cwd`: its start directory; `others`:
  // number of other launchers that RLIMIT_NPROC counts too. kSetup if a limit can't be enforced.
  Result<Preparation> Make(const ExecRequest& request, std::string cwd, std::size_t others) const;

  // Returns the path of a directory in the workspace, as the command sees it.
  std::string InWorkspace(const std::string& relative) const;

 private:
  std::uint32_t flags_ = 0;
  RunRecord record_;
  std::string workspace_;
  std::string home_;
  std::shared_ptr<const DenialScene> scene_;
  WrittenPlaces places_;
  bool counts_processes_ = false;
};

// A sandbox that serves many commands. Its launcher forks a launcher for each command
// (launcher/command/run_command.h). The end of the sandbox ends all of them, and is the fallback if
// the end of one can't be proved. Supervisor thread only; shared by its backend, the supervisor and
// its runs.
class Session : public OwnedSession,
                public std::enable_shared_from_this<Session>,
                private Sandbox::User,
                private SessionSlot::Owner {
 public:
  Session(SupervisorContext& shared, std::shared_ptr<const Backend> runtime, SessionRule rule,
          Listener listener);
  ~Session() override;

  void Open(const SessionShell* from) override;
  void Close(const std::string& reason) override;

  // Returns the error that rejects calls after its end.
  static Error SessionEnded(const std::string& reason);

  // Calls `ready` with the preparation of one command. kClosed if the session has ended. `key`: of
  // the look at the host's files. `request` must live until then.
  void Prepare(const ExecRequest& request, FileThreads::Key key, Backend::Ready ready);

  PortState LookForPort(std::uint16_t port) const override;
  ForwardAnswer Forward(const ForwardRequest& request) override;
  void CloseForward(std::uint64_t number) override;
  const SessionShell* shell() const override {
    return phase_ == Phase::kOpen && rule_.keeps_shell ? &shell_ : nullptr;
  }

  // Returns a slot for a planned command, with the shell part of its plan. kSetup if no slot can be
  // made.
  Result<std::unique_ptr<Sandbox>> Enter(ShellPart shell);

 private:
  enum class Phase { kNew, kOpening, kOpen, kClosing, kGone };

  // Called by its slots.
  void OnOrderSent() override;
  void OnDirectoryRefused(const ShellFile& refused) override;
  void OnShellLeft(const ShellFile& left) override { shell_.Adopt(left); }
  void OnUnproved() override;
  void OnSlotLeft(SessionSlot* slot) override;
  bool end_is_proof() const override { return sandbox_ && sandbox_->end_is_proof(); }
  SandboxNetwork* network() const override { return sandbox_ ? sandbox_->network() : nullptr; }
  Sandbox* sandbox() const override { return sandbox_.get(); }

  // Called by its own sandbox.
  void OnReport(const Report& report) override;
  void OnGone() override;

  Result<Preparation> Plan(const ExecRequest& request);
  void PrepareSandbox();
  void Spawn(Preparation preparation);
  void Launch(Preparation preparation);
  void OnReady(const Report& report);
  std::shared_ptr<SessionSlot::Owner> AsOwner();
  void Finish();
  void FailToOpen(const Error& error);
  void CheckMasks(const std::string& mounted_upon);
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
  int tries_ = 1;               // number of set-up attempts, with this one
  bool is_separating_ = false;  // commands can signal only their own processes
  bool is_proved_ = false;      // its launcher has reported that no process is left
  std::string reason_;
  std::shared_ptr<Session> self_;  // set while there are processes

  CommandTemplate template_;
  std::shared_ptr<const std::vector<std::string>> mount_points_;  // or null
  std::string mounted_upon_;
  std::unique_ptr<Sandbox> sandbox_;
  std::optional<Capture> setup_stderr_;
  SessionSlots slots_;
  std::uint64_t commands_ = 0;
  SessionShell shell_;
  Timer idle_;
};

// Runs commands in one session of another backend. The session is made and used on the supervisor
// thread; this object may be destroyed on any thread.
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
  mutable std::weak_ptr<Session> session_;  // supervisor thread only; the supervisor owns it
  // Why the session ended. Supervisor thread only.
  std::shared_ptr<std::string> ended_ = std::make_shared<std::string>();
};

}  // namespace native_runner
