#pragma once

#include <node_api.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policy/result.h"
#include "supervise/supervisor.h"

// The events of a supervisor for a Node environment, as values: each is a call of RunListener that
// is passed to the JavaScript thread.
namespace native_runner::events {

struct Chunk {
  std::uint64_t run;
  Stream stream;
  std::vector<std::uint8_t> bytes;
};

struct Event {
  std::uint64_t run;
  LiveEvent event;
};

struct Connection {
  std::uint64_t run;
  RecordEvent event;
  ConnectionRecord record;
};

struct Ended {
  std::uint64_t run;
  RunResult result;
};

struct PoolAnswer {
  std::uint64_t request;
  Result<std::size_t> prewarmed;
};

struct PortAnswer {
  std::uint64_t wait;
  PortState state;
};

struct ForwardDone {
  std::uint64_t request;
  ForwardAnswer answer;
};

struct PathAnswer {
  std::uint64_t request;
  std::optional<Error> unanswered;
};

struct SessionOpen {
  std::uint64_t session;
  Result<LayerRecord> layers;
};

struct SessionGone {
  std::uint64_t session;
  std::string reason;
};

struct Question {
  std::uint64_t question;
  std::uint64_t asker;
  NetworkQuestion what;
};

struct QuestionGone {
  std::uint64_t question;
};

using Item = std::variant<Chunk, Event, Connection, Ended, PoolAnswer, PortAnswer, ForwardDone,
                          PathAnswer, SessionOpen, SessionGone, Question, QuestionGone>;

}  // namespace native_runner::events

namespace native_runner {

// Passes a supervisor's events to the JavaScript thread. They are posted on the supervisor's thread
// and taken on the JavaScript thread, which a thread-safe function of Node-API wakes, whatever kind
// of loop it runs. Must outlive the supervisor that posts. JavaScript thread, except for the calls
// of RunListener.
class EventQueue final : public RunListener {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // `on_event` is called on the JavaScript thread when events are queued; reactions of the promises
  // that it resolves run after it. False: the environment can't be woken, and nothing has to be
  // closed.
  bool Open(napi_env env, std::function<void()> on_event);

  // Returns all events since the last call, in order.
  std::vector<events::Item> Take();

  // True if the end of this run is queued, and was not taken yet.
  bool HasEndOf(std::uint64_t run);

  // True makes the environment stay alive for events to come; false at first.
  void KeepAlive(bool keep);

  // Stops the calls of `on_event`; events that are posted from now on are dropped with the queue.
  void Silence();
  // Called when no thread posts any more; the queue may be destroyed afterwards.
  void Close();

  void OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) override;
  void OnEvent(std::uint64_t run, LiveEvent event) override;
  void OnConnection(std::uint64_t run, RecordEvent event, ConnectionRecord record) override;
  void OnEnd(std::uint64_t run, RunResult result) override;
  void OnPool(std::uint64_t request, Result<std::size_t> prewarmed) override;
  void OnPort(std::uint64_t wait, PortState state) override;
  void OnForward(std::uint64_t request, ForwardAnswer answer) override;
  void OnPath(std::uint64_t request, const std::optional<Error>& unanswered) override;
  void OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) override;
  void OnSessionGone(std::uint64_t session, const std::string& reason) override;
  void OnNetworkQuestion(std::uint64_t question, std::uint64_t asker,
                         NetworkQuestion what) override;
  void OnNetworkQuestionGone(std::uint64_t question) override;
  void OnClosed() override {}  // closing the supervisor waits for its thread

 private:
  void Post(events::Item item);

  // Data of the thread-safe function, which may be called once more after the queue is destroyed.
  struct Wake {
    std::function<void()> on_event;
  };
  static void OnWake(napi_env env, napi_value function, void* wake, void* data);

  napi_env env_ = nullptr;
  napi_threadsafe_function function_ = nullptr;
  Wake* wake_ = nullptr;  // owned by the function: its finalizer frees it
  bool keeps_alive_ = false;

  std::mutex mutex_;  // guards the next two
  std::vector<events::Item> items_;
  bool is_silent_ = false;
};

}  // namespace native_runner
