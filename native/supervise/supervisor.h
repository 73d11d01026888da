#pragma once

#include <uv.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "policy/options/request.h"
#include "policy/result.h"
#include "supervise/network/sandbox_network.h"
#include "supervise/pool/sandbox_pool.h"
#include "supervise/preparation/backend.h"
#include "supervise/preparation/run_result.h"
#include "supervise/run/run.h"

namespace native_runner {

// Passes messages from any thread to the thread that runs a libuv loop, in posting order. Keeps the
// loop running until it is closed.
template <typename Message>
class MessageQueue {
 public:
  using OnMessages = std::function<void(std::vector<Message>)>;

  MessageQueue() = default;
  ~MessageQueue() = default;
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;

  // Call before the loop runs. Close the queue and run the loop to its end before destruction.
  void Open(uv_loop_t* loop, OnMessages on_messages) {
    on_messages_ = std::move(on_messages);
    wake_.data = this;
    uv_async_init(loop, &wake_,
                  [](uv_async_t* wake) { static_cast<MessageQueue*>(wake->data)->Deliver(); });
  }

  // Any thread. Does nothing after Close.
  void Post(Message message) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      messages_.push_back(std::move(message));
      is_first = messages_.size() == 1;
      ++wakers_;  // keeps the handle open until the send below is done
    }
    // Sent outside the lock, so that the woken thread need not wait for it.
    if (is_first) uv_async_send(&wake_);
    --wakers_;
  }

  // Call once, on the loop's thread.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    while (wakers_ != 0)
      std::this_thread::yield();  // at most for one system call of each poster
    uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
  }

  // The loop's thread only.
  bool is_closing() const {
    return uv_is_closing(reinterpret_cast<const uv_handle_t*>(&wake_)) != 0;
  }

 private:
  void Deliver() {
    std::vector<Message> messages;
    {
      const std::lock_guard lock(mutex_);
      messages.swap(messages_);
    }
    on_messages_(std::move(messages));
  }

  OnMessages on_messages_;
  uv_async_t wake_{};
  std::mutex mutex_;  // guards the next two members
  std::vector<Message> messages_;
  bool is_closed_ = false;
  std::atomic<int> wakers_ = 0;  // number of posters about to use wake_
};

// A submitted run. Runs of one lane start in order, at most `lane_width` at once; the others wait.
// A live process is in no lane: it may run for days and would block the others.
struct RunJob {
  // The lane of runs that need no order. A run that waits for a file system which does not answer
  // has no place in it meanwhile.
  static constexpr std::uint64_t kSharedLane = 0;

  std::uint64_t run = 0;  // unique
  std::uint64_t lane = kSharedLane;
  std::size_t lane_width = 1;
  std::shared_ptr<const Backend> runtime;
  ExecRequest request;
  PoolReference pool = {};
};

// The lanes of one supervisor, with their waiting runs. Supervisor thread only.
class Lanes {
 public:
  // `begin` starts the next job; the job may end, and OnEnd be called, before `begin` returns.
  explicit Lanes(std::function<void(RunJob)> begin) : begin_(std::move(begin)) {}

  void Add(RunJob job);

  // Records that a started run has ended. Call Fill after the run's end was reported.
  void OnEnd(std::uint64_t lane) { --lanes_[lane].in_flight; }
  void Fill(std::uint64_t lane);

  // A started run has no place in its lane until Return has called `go_on`, once there is a place:
  // before waiting runs get one. `go_on` returns false if the run has ended meanwhile.
  void Leave(std::uint64_t lane);
  void Return(std::uint64_t lane, std::function<bool()> go_on);

  // Removes one waiting run (nullopt if it does not wait), or all of them.
  std::optional<RunJob> Withdraw(std::uint64_t run);
  std::vector<RunJob> WithdrawAll();

 private:
  struct Lane {
    std::size_t width = 1;
    std::size_t in_flight = 0;
    std::deque<std::function<bool()>> returning;
    std::deque<RunJob> waiting;
    bool is_idle() const { return in_flight == 0 && returning.empty() && waiting.empty(); }
  };

  std::function<void(RunJob)> begin_;
  std::map<std::uint64_t, Lane> lanes_;
  bool is_filling_ = false;
};

// Receives a supervisor's events. Called on the supervisor thread.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) = 0;
  virtual void OnEvent(std::uint64_t run, LiveEvent event) = 0;  // of a live process
  virtual void OnEnd(std::uint64_t run, RunResult result) = 0;
  // Reports a connection of a run that asked for them (ExecRequest::reports_connections).
  virtual void OnConnection(std::uint64_t run, RecordEvent event, ConnectionRecord record) = 0;
  // Answers a PoolRequest: the number of prewarmed sandboxes.
  virtual void OnPool(std::uint64_t request, Result<std::size_t> prewarmed) = 0;
  // Reports how a wait for a port ended.
  virtual void OnPort(std::uint64_t wait, PortState state) = 0;
  // Answers a ForwardMessage: what came of opening a forward, or kGone once one is closed.
  virtual void OnForward(std::uint64_t request, ForwardAnswer answer) = 0;
  // A path has answered, or did not within FileThreads::kPatienceMs.
  virtual void OnPath(std::uint64_t request, const std::optional<Error>& unanswered) = 0;
  // A session opened, with the layers of its commands, or failed to open; an open session ended,
  // and why.
  virtual void OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) = 0;
  virtual void OnSessionGone(std::uint64_t session, const std::string& reason) = 0;
  // A sandbox's network asks the asker of its policy, and waits for Answer; or no longer waits for
  // it.
  virtual void OnNetworkQuestion(std::uint64_t question, std::uint64_t asker,
                                 NetworkQuestion what) = 0;
  virtual void OnNetworkQuestionGone(std::uint64_t question) = 0;
  // The last call: no process, handle or thread of the supervisor remains except the calling
  // thread.
  virtual void OnClosed() = 0;
};

// One thread with its own libuv loop that starts and watches all runs of one Node environment, so
// that deadlines hold while JavaScript is busy. Public members may be called from any thread.
class Supervisor {
 public:
  struct Options {
    std::string launcher_path;        // absolute
    std::string search_path;          // the host's PATH, searched for bwrap
    RunListener* listener = nullptr;  // outlives the supervisor
  };

  static Result<std::unique_ptr<Supervisor>> Start(const Options& options);
  ~Supervisor();  // only after Close; waits for OnClosed
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  using Job = RunJob;
  void Submit(Job job);
  void Abort(std::uint64_t run);
  // Only for live processes.
  void Apply(std::uint64_t run, LiveAction action);

  // Reports the renewal of a lease to the launchers of its runs.
  void ReportRenewed(std::shared_ptr<const Lease> lease);

  // Fills a runner's pool up to its size, or ends all sandboxes in it for good. `request` is
  // unique.
  struct PoolRequest {
    std::uint64_t request = 0;
    bool closes = false;
    PoolReference pool;
    std::shared_ptr<const Backend> runtime;
  };
  void Submit(PoolRequest request);

  // Is answered by OnSessionOpen and, if that succeeded, later by OnSessionGone. `session` is
  // unique. `from`: the open session whose shell state it begins with; 0: none.
  void OpenSession(std::uint64_t session, std::shared_ptr<const SessionOpener> opener,
                   std::uint64_t from = 0);
  // Does nothing if the session has ended.
  void CloseSession(std::uint64_t session);

  // Is answered by OnPort.
  void Submit(const PortWait& wait);
  // Makes a port of the host lead to a sandbox, or, with `closes`, closes such a forward. Is
  // answered by OnForward. `request` is unique.
  struct ForwardMessage {
    std::uint64_t request = 0;
    std::uint64_t run = 0;      // 0: the session's
    std::uint64_t session = 0;  // 0: the run's
    ForwardRequest opens;
    std::uint64_t closes = 0;  // a forward's number; 0: it opens one
  };
  void Submit(const ForwardMessage& message);

  // Looks at a path of the host on a thread that can be left behind. Is answered by OnPath.
  // `request` is unique.
  struct PathRequest {
    std::uint64_t request = 0;
    std::string path;
  };
  void Submit(PathRequest request);

  // Does nothing if the wait has ended.
  void StopWait(std::uint64_t wait);

  // Does nothing if no connection waits for the question any more.
  void Answer(std::uint64_t question, NetworkAnswer answer);

  // Ends every run, waits for the proof, then calls OnClosed. The last call.
  void Close();

 private:
  struct AbortRequest {
    std::uint64_t run;
  };
  struct LiveMessage {
    std::uint64_t run = 0;
    LiveAction action;
  };
  struct SessionRequest {
    std::uint64_t session;
    std::shared_ptr<const SessionOpener> opens;  // null: close the session
    std::uint64_t from = 0;
  };
  struct StopWaitRequest {
    std::uint64_t wait;
  };
  struct AnswerMessage {
    std::uint64_t question;
    NetworkAnswer answer;
  };
  struct LeaseMessage {
    std::shared_ptr<const Lease> lease;
  };
  struct CloseRequest {};
  using Message = std::variant<Job, AbortRequest, LiveMessage, PoolRequest, SessionRequest,
                               PortWait, ForwardMessage, PathRequest, StopWaitRequest,
                               AnswerMessage, LeaseMessage, CloseRequest>;

  explicit Supervisor(RunListener* listener)
      : listener_(listener),
        questions_(
            [this](std::uint64_t question, std::uint64_t asker, NetworkQuestion what) {
              listener_->OnNetworkQuestion(question, asker, std::move(what));
            },
            [this](std::uint64_t question) { listener_->OnNetworkQuestionGone(question); }),
        pools_(shared_, [this] { CloseLoopIfDone(); }),
        ports_([this](const PortWait& wait) { return LookForPort(wait); },
               [this](std::uint64_t id, PortState state) { listener_->OnPort(id, state); }),
        lanes_([this](Job job) { Begin(std::move(job)); }) {}

  static void Main(void* self);
  void OnMessage(Message message);
  void Take(Job job);
  void Begin(Job job);
  void AbortRun(std::uint64_t run);
  void CancelWaiting(const Job& job, bool closing);
  void OnRunEnd(std::uint64_t run, std::optional<std::uint64_t> lane, std::uint64_t pool,
                RunResult result);
  void ServePool(const PoolRequest& request);
  void ServeSession(const SessionRequest& order);
  void ServeWait(const PortWait& wait);
  ForwardAnswer ServeForward(const ForwardMessage& message);
  void ServePath(const PathRequest& request);
  PortState LookForPort(const PortWait& wait) const;
  void BeginClose();
  void CloseLoopIfDone();

  RunListener* listener_;
  uv_loop_t loop_{};
  MessageQueue<Message> queue_;
  uv_thread_t thread_{};
  bool thread_started_ = false;

  // Supervisor thread only from here on.
  OpenQuestions questions_;  // outlives all askers
  FileThreads files_;
  // The key of the looks at each path: one thread is left behind for it, not one for each request.
  std::map<std::string, std::weak_ptr<const std::string>> looked_at_;
  std::shared_ptr<SupervisorContext> context_ = std::make_shared<SupervisorContext>();
  SupervisorContext& shared_ = *context_;
  SandboxPools pools_;
  PortWaits ports_;
  Lanes lanes_;
  std::map<std::uint64_t, std::shared_ptr<Run>> runs_;
  std::map<std::uint64_t, std::shared_ptr<OwnedSession>> sessions_;
  bool closing_ = false;
};

}  // namespace native_runner
