#pragma once

#include <uv.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "policy/result.h"
#include "supervise/lanes.h"
#include "supervise/message_queue.h"
#include "supervise/network/open_questions.h"
#include "supervise/pool/sandbox_pools.h"
#include "supervise/preparation/run_result.h"
#include "supervise/preparation/runtime.h"
#include "supervise/preparation/session_opener.h"
#include "supervise/run/run.h"

namespace native_runner {

// Where a supervisor's news go. Called on the supervisor thread.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) = 0;
  virtual void OnEvent(std::uint64_t run, LiveEvent event) = 0;  // of a live process
  virtual void OnEnd(std::uint64_t run, RunResult result) = 0;
  // A connection of a run that asks to hear of them (ExecRequest::tells_connections).
  virtual void OnConnection(std::uint64_t run, SandboxNetwork::RecordEvent event,
                            ConnectionRecord record) = 0;
  // The answer to FillPool or ClosePool: how many sandboxes stand.
  virtual void OnPool(std::uint64_t request, Result<std::size_t> standing) = 0;
  // How a wait for a port ended.
  virtual void OnPort(std::uint64_t wait, PortState state) = 0;
  // A session was opened, with the layers of its commands, or could not be; it has ended, and why.
  virtual void OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) = 0;
  virtual void OnSessionGone(std::uint64_t session, const std::string& reason) = 0;
  // A sandbox's network asks the asker of its policy; Answer is to follow. Nobody waits for that
  // any more.
  virtual void OnNetworkQuestion(std::uint64_t question, std::uint64_t asker,
                                 NetworkQuestion what) = 0;
  virtual void OnNetworkQuestionGone(std::uint64_t question) = 0;
  // The last call: no process, handle or thread of the supervisor is left but the one that calls.
  virtual void OnClosed() = 0;
};

// One thread with its own libuv loop that starts and watches all runs of one Node environment, so
// that deadlines hold while JavaScript is busy. Public members may be called from any thread.
class Supervisor {
 public:
  struct Options {
    std::string launcher_path;        // absolute
    std::string search_path;          // the host's PATH, where bwrap is looked for
    RunListener* listener = nullptr;  // outlives the supervisor
  };

  static Result<std::unique_ptr<Supervisor>> Start(const Options& options);
  ~Supervisor();  // after Close only; waits for OnClosed
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  using Job = RunJob;
  void Submit(Job job);
  void Abort(std::uint64_t run);
  // For a live process.
  void Apply(std::uint64_t run, LiveAction action);

  // The lease was renewed: the launchers of its runs are to hear of it.
  void TellRenewed(std::shared_ptr<const Lease> lease);

  // Makes what is missing in a runner's pool; ends all in it, for good. `request` is unique.
  struct PoolRequest {
    std::uint64_t request = 0;
    bool closes = false;
    PoolReference pool;
    std::shared_ptr<const Runtime> runtime;
  };
  void Submit(PoolRequest request);

  // OnSessionOpen follows, and OnSessionGone if that was well. `session` is unique.
  void OpenSession(std::uint64_t session, std::shared_ptr<const SessionOpener> opener);
  // Nothing for one that has ended.
  void CloseSession(std::uint64_t session);

  // OnPort follows.
  void Submit(const PortWait& wait);
  // Nothing for one that has ended.
  void StopWait(std::uint64_t wait);

  // Nothing for a question that nobody waits with any more.
  void Answer(std::uint64_t question, NetworkAnswer answer);

  // Ends every run, waits for the proof, then OnClosed. The last call.
  void Close();

 private:
  struct AbortRequest {
    std::uint64_t run;
  };
  struct LiveMessage {
    std::uint64_t run;
    LiveAction action;
  };
  struct SessionRequest {
    std::uint64_t session;
    std::shared_ptr<const SessionOpener> opens;  // none: it is to be closed
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
  using Message =
      std::variant<Job, AbortRequest, LiveMessage, PoolRequest, SessionRequest, PortWait,
                   StopWaitRequest, AnswerMessage, LeaseMessage, CloseRequest>;

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
  PortState LookForPort(const PortWait& wait) const;
  void BeginClose();
  void CloseLoopIfDone();

  RunListener* listener_;
  uv_loop_t loop_{};
  MessageQueue<Message> queue_;
  uv_thread_t thread_{};
  bool thread_started_ = false;

  // Supervisor thread only from here on.
  OpenQuestions questions_;  // outlives all who ask
  Shared shared_;
  SandboxPools pools_;
  PortWaits ports_;
  Lanes lanes_;
  std::map<std::uint64_t, std::shared_ptr<Run>> runs_;
  std::map<std::uint64_t, std::shared_ptr<OwnedSession>> sessions_;
  bool closing_ = false;
};

}  // namespace native_runner
