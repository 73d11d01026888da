#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "addon/environment/event_queue.h"
#include "addon/environment/pending.h"
#include "supervise/supervisor.h"

namespace native_runner {

// The state of one Node environment (the main thread, or a worker): its supervisor, started with
// the first run, the queue of its events, and the promises and callbacks that JavaScript waits for.
// Keeps the process alive only while something is pending.
//
// Owns itself: a clean-up hook ends all runs when the environment is closed, waits until their end
// is proved, and frees this. JavaScript thread.
class EnvironmentState {
 public:
  // Makes the state of `env`; nullptr with a JavaScript exception pending on failure.
  static EnvironmentState* Create(Napi::Env env);
  EnvironmentState(const EnvironmentState&) = delete;
  EnvironmentState& operator=(const EnvironmentState&) = delete;

  // Returns the process's own PATH, along which programs are searched.
  static std::string SearchPath();

  void Configure(std::string launcher_path, const Napi::Function& make_result) {
    launcher_path_ = std::move(launcher_path);
    runs_.set_make_result(make_result);
  }

  // The launcher executable, for code that starts it without a supervisor; empty before
  // Configure().
  const std::string& launcher_path() const { return launcher_path_; }

  // The queue in which a runner's runs wait for their turn.
  struct Lane {
    std::uint64_t number = 0;  // 0: shared by all runners without a lane of their own
    std::size_t width = 0;     // 0: the default
  };
  Lane NewLane(std::size_t width) { return {++last_lane_, width}; }

  struct Submission {
    std::shared_ptr<const Backend> runtime;
    Lane lane;
    ExecRequest request;
    PoolReference pool;
  };

  // Returns the run's number; nullopt if a JavaScript exception is pending, or the environment is
  // closing.
  std::optional<std::uint64_t> Submit(Submission submission, PendingRun pending);
  void Abort(std::uint64_t run);
  void Apply(std::uint64_t run, LiveAction action);
  // Aborts the run and blocks until its end is proved, two seconds at most: for a process that is
  // about to exit, whose loop delivers no more events.
  void AbortAndWait(std::uint64_t run);

  // Reports a renewed lease to its runs; does nothing if there can be no runs.
  void ReportRenewed(std::shared_ptr<const Lease> lease);

  // Waits for a port; `wait` has no id yet. Returns the wait's number; nullopt if nothing can have
  // a port, or the environment is closing.
  std::optional<std::uint64_t> Submit(PortWait wait, napi_deferred deferred);
  void StopWait(std::uint64_t wait);

  // Opens or closes a forward; `message` has no request yet.
  void Submit(Supervisor::ForwardMessage message, napi_deferred deferred);

  // Makes a pool's missing sandboxes, or closes the pool; without `deferred` the answer is dropped.
  void RequestPool(Supervisor::PoolRequest request, napi_deferred deferred);
  std::uint64_t NewPool() { return ++last_pool_; }

  // False if a JavaScript exception is pending, or the environment is closing.
  // `from`: the open session whose shell state it begins with; 0: none.
  bool OpenSession(std::uint64_t session, std::shared_ptr<const SessionOpener> opener,
                   std::uint64_t from, SessionPromises promises);
  // Does nothing for a session that was never opened, or has ended.
  void CloseSession(std::uint64_t session);
  std::uint64_t NewSession() { return ++last_session_; }

  // The functions that decide connections which a network's rules leave open; see pending.h.
  NetworkAskers& askers() { return askers_; }
  void Answer(std::uint64_t question, NetworkAnswer answer);

  // Makes the channel on which connections are handed to the terminator, or makes it anew if there
  // is one, with the same number at our end. Returns the number of our end, and the terminator's
  // end.
  Result<std::pair<int, Descriptor>> OpenTerminator();

  // Settles `deferred` when the file system of an absolute path has answered, or is waited for no
  // more. False if a JavaScript exception is pending, or the environment is closing.
  bool AwaitAnswer(std::string path, napi_deferred deferred);

  // Looks at paths that a caller waits for.
  BriefLooks& looks() { return looks_; }

  // A reference for objects that may outlive this: nullptr as soon as the tear-down begins.
  std::shared_ptr<EnvironmentState*> back_reference() const { return back_reference_; }

 private:
  explicit EnvironmentState(Napi::Env env)
      : env_(env),
        runs_(env),
        pool_requests_(env),
        port_waits_(env),
        forwards_(env),
        paths_(env),
        sessions_(env),
        askers_(env) {}

  bool StartSupervisor();
  void TakeEvents();
  void Deliver(events::Item item);
  void KeepAliveWhilePending();
  void TearDown();

  Napi::Env env_;
  std::string launcher_path_;
  EventQueue event_queue_;
  std::unique_ptr<Supervisor> supervisor_;  // destroyed before the event queue
  PendingRuns runs_;
  PendingPoolRequests pool_requests_;
  PendingPortWaits port_waits_;
  PendingForwards forwards_;
  PendingPaths paths_;
  PendingSessions sessions_;
  NetworkAskers askers_;
  BriefLooks looks_;
  Descriptor terminator_;  // outlives the supervisor
  std::uint64_t last_lane_ = 0;
  std::uint64_t last_pool_ = 0;
  std::uint64_t last_session_ = 0;
  std::size_t default_lane_width_ = 0;
  bool tearing_down_ = false;
  std::shared_ptr<EnvironmentState*> back_reference_ = std::make_shared<EnvironmentState*>(this);
};

}  // namespace native_runner
