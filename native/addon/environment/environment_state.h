#pragma once

#include <napi.h>
#include <uv.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "addon/values/result.h"
#include "supervise/supervisor.h"

namespace native_runner {

// What one Node environment (the main thread, or a worker) has of us: its supervisor, started with
// the first run, and the promises that wait for it. News come over a uv_async on Node's loop, which
// keeps the process alive only while runs are in flight.
//
// Owns itself: an async clean-up hook ends all runs when the environment goes away, waits for the
// proof, and frees this. (A synchronous hook crashes in a worker with open handles, none aborts.)
// JavaScript thread, but for the RunListener's calls.
class EnvironmentState final : public RunListener {
 public:
  // Makes the state of `env`; nullptr with a JavaScript exception pending when that fails.
  static EnvironmentState* Create(Napi::Env env);

  // The process's own PATH, where programs are looked for.
  static std::string SearchPath();

  void Configure(std::string launcher_path, const Napi::Function& make_result) {
    launcher_path_ = std::move(launcher_path);
    results_.set_make_result(make_result);
  }

  // What JavaScript waits for with one run.
  struct Waiting {
    napi_deferred deferred = nullptr;
    Napi::FunctionReference on_stdout;
    Napi::FunctionReference on_stderr;
    Napi::FunctionReference on_event;  // of a live process
    std::string policy_hash;
  };

  struct Submission {
    std::shared_ptr<const Runtime> runtime;
    std::uint64_t lane = 0;
    std::size_t lane_width = 0;  // 0: the default
    ExecRequest request;
    PoolReference pool;
  };

  // Returns the run's number, or 0 with a JavaScript exception pending.
  std::uint64_t Submit(Submission submission, Waiting waiting);
  void Abort(std::uint64_t run);
  void Apply(std::uint64_t run, LiveAction action);
  // Aborts it and blocks until its end is proved, two seconds at most: for a process that is about
  // to exit, whose loop will deliver nothing any more.
  void AbortAndWait(std::uint64_t run);
  std::uint64_t NewLane() { return ++last_lane_; }
  std::uint64_t NewPool() { return ++last_pool_; }

  // Makes what is missing in a pool, or ends it; without `deferred` nobody waits for the answer.
  void RequestPool(Supervisor::PoolRequest request, napi_deferred deferred);

  // Opens a session. `opened` settles with the layers of its commands, `ended` later with why it
  // has. False: a JavaScript exception is pending.
  struct SessionPromises {
    napi_deferred opened = nullptr;
    napi_deferred ended = nullptr;
  };
  bool OpenSession(std::uint64_t session, std::shared_ptr<const SessionRuntime> runtime,
                   SessionPromises promises);
  // Nothing for one that was never opened, or has ended. Without `waits` nobody needs to know.
  void CloseSession(std::uint64_t session, bool waits);
  std::uint64_t NewSession() { return ++last_session_; }

  // Where this can be found by what may outlive it: nullptr as soon as it is being torn down.
  std::shared_ptr<EnvironmentState*> tie() const { return tie_; }

  void OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) override;
  void OnEvent(std::uint64_t run, LiveEvent event) override;
  void OnEnd(std::uint64_t run, RunResult result) override;
  void OnPool(std::uint64_t request, Result<std::size_t> standing) override;
  void OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) override;
  void OnSessionGone(std::uint64_t session, const std::string& reason) override;
  void OnClosed() override;

 private:
  struct SessionOpen {
    std::uint64_t session;
    Result<LayerRecord> layers;
  };
  struct SessionGone {
    std::uint64_t session;
    std::string reason;
  };
  struct WaitingSession {
    SessionPromises promises;
    bool keeps_alive = true;  // it is being opened, or closed
  };
  struct Chunk {
    std::uint64_t run;
    Stream stream;
    std::vector<std::uint8_t> bytes;
  };
  struct Event {
    std::uint64_t run;
    LiveEvent event;
  };
  struct Ended {
    std::uint64_t run;
    RunResult result;
  };
  struct PoolAnswer {
    std::uint64_t request;
    Result<std::size_t> standing;
  };
  struct Closed {};
  using News = std::variant<Chunk, Event, Ended, PoolAnswer, SessionOpen, SessionGone, Closed>;

  explicit EnvironmentState(Napi::Env env) : env_(env) {}

  bool StartSupervisor();
  void Post(News news);
  bool RunHasEnded(std::uint64_t run);
  void Deliver();
  void DeliverChunk(const Chunk& chunk);
  void DeliverEvent(const Event& event);
  void DeliverEnd(Ended ended);
  void DeliverAnswer(const PoolAnswer& answer);
  void DeliverOpen(const SessionOpen& open);
  void DeliverGone(const SessionGone& gone);
  void Call(ValueBuilder& builder, const Napi::FunctionReference& callback, napi_value argument);
  void KeepAliveWhileWaiting();
  void BeginTeardown();
  void EndTeardown();

  Napi::Env env_;
  napi_async_cleanup_hook_handle hook_ = nullptr;
  std::unique_ptr<Napi::AsyncContext> context_;
  uv_async_t wake_{};
  std::string launcher_path_;
  ResultMaker results_;
  std::unique_ptr<Supervisor> supervisor_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::uint64_t last_run_ = 0;
  std::uint64_t last_lane_ = 0;
  std::uint64_t last_pool_ = 0;
  std::uint64_t last_pool_request_ = 0;
  std::uint64_t last_session_ = 0;
  std::map<std::uint64_t, WaitingSession> sessions_;
  std::map<std::uint64_t, napi_deferred> pool_requests_;
  std::shared_ptr<EnvironmentState*> tie_ = std::make_shared<EnvironmentState*>(this);
  std::size_t default_lane_width_ = 0;
  bool tearing_down_ = false;

  std::mutex mutex_;  // guards news_
  std::vector<News> news_;
};

}  // namespace native_runner
