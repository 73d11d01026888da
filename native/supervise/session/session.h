#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/options/request.h"
#include "policy/shell/shell_state.h"
#include "supervise/os/handle.h"
#include "supervise/preparation/runtime.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/capture.h"

namespace native_runner {

class SessionSlot;

// What a session is to be.
struct SessionRule {
  std::uint64_t idle_ms = 0;       // without a command, after which it ends; 0: never
  std::uint64_t max_commands = 0;  // after which it ends; 0: any number
  std::uint64_t tmp_bytes = 0;     // of its private /tmp; 0: no limit
  bool keeps_shell = false;        // cwd and variables pass from one shell command to the next
};

// A sandbox that is kept for many commands. Its launcher makes a process for each, which is a
// launcher to that command (launcher/session.h); the sandbox's own end is the end of them all, and
// the way out whenever the end of one can't be proved. Supervisor thread only; shared by its
// runtime, the supervisor and the runs in it.
class Session : public std::enable_shared_from_this<Session>, private Sandbox::User {
 public:
  struct Listener {
    // Once: the layers that are in force for its commands; or why there is no session.
    std::function<void(Result<LayerRecord>)> on_open;
    // Once, last, and only after it was open: its end is proved. In words, why.
    std::function<void(const std::string& reason)> on_gone;
  };

  Session(Shared& shared, std::shared_ptr<const Runtime> runtime, SessionRule rule,
          Listener listener);
  ~Session() override;

  void Open();

  // Ends it, and what runs in it. `reason`: a clause that follows "the session has ended: ". The
  // first one stays.
  void Close(const std::string& reason);

  // What calls are rejected with from then on.
  static Error SessionEnded(const std::string& reason);

  // How one command is to be run in it. kClosed when it has ended.
  Result<Preparation> Plan(const ExecRequest& request);

  // See Sandbox.
  bool end_is_proof() const { return sandbox_ && sandbox_->end_is_proof(); }

  // A place for a command that was planned, with what its plan says of a shell. kSetup when there
  // is none.
  Result<std::unique_ptr<Sandbox>> Enter(const ShellPart& shell);

 private:
  friend class SessionSlot;
  // The user of what stood, for its end.
  struct Dismissed final : Sandbox::User {
    explicit Dismissed(Session* whose) : session(whose) {}
    void OnReport(const Report& /*report*/) override {}
    void OnGone() override;
    Session* session;
  };
  enum class Phase { kNew, kOpening, kOpen, kClosing, kGone };

  // What SessionSlots say. PrepareNextSlot: one has got its order, and a place for the next may be
  // made. EndUnproved: one can't prove its command's end, so all must end.
  void PrepareNextSlot();
  void ForgetSlot(SessionSlot* slot);
  void EndUnproved();
  void Adopt(int state, std::size_t given, bool with_directory);
  void LeaveDirectory() { shell_.cwd.clear(); }

  void Spawn(Preparation preparation);
  Result<std::unique_ptr<SessionSlot>> MakeSlot();
  void OnReport(const Report& report) override;
  void OnGone() override;
  void Dismiss(bool is_proof);
  void Finish();
  void FailToOpen(const Error& error);
  void CheckMasks();
  std::string SetupErrorText() const;
  void EndWhenUnused();
  bool HasRunAll() const;
  std::string RunAll() const;
  LayerRecord LayersOfCommands(LayerSet enforced) const;
  void WatchIdleness();

  Shared& shared_;
  std::shared_ptr<const Runtime> runtime_;
  SessionRule rule_;
  Listener listener_;
  Phase phase_ = Phase::kNew;
  bool has_opened_ = false;
  bool is_separating_ = false;  // no command can signal what is not its own
  bool is_proved_ = false;      // its launcher has said that nothing is left
  std::string reason_;
  std::shared_ptr<Session> self_;  // while there are processes

  Preparation plan_;  // what is left of it once it was spawned: the model of its commands'
  std::string mounted_upon_;
  std::unique_ptr<Sandbox> sandbox_;
  Capture setup_stderr_;
  std::unique_ptr<SessionSlot> next_slot_;  // the next command's, made while there is time
  Dismissed dismissed_{this};
  std::set<SessionSlot*> slots_;
  std::uint64_t commands_ = 0;
  ShellState shell_;
  Timer idle_;
};

}  // namespace native_runner
