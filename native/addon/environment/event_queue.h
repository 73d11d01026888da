#pragma once

#include <node_api.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "policy/result.h"
#include "supervise/supervisor.h"

// What a supervisor tells a Node environment, as values: each is a call of RunListener's that has
// crossed to the JavaScript thread.
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
  SandboxNetwork::RecordEvent event;
  ConnectionRecord record;
};

struct Ended {
  std::uint64_t run;
  RunResult result;
};

struct PoolAnswer {
  std::uint64_t request;
  Result<std::size_t> standing;
};

struct PortAnswer {
  std::uint64_t wait;
  PortState state;
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

using Item = std::variant<Chunk, Event, Connection, Ended, PoolAnswer, PortAnswer, SessionOpen,
                          SessionGone, Question, QuestionGone>;

}  // namespace native_runner::events

namespace native_runner {

// Carries a supervisor's news to the JavaScript thread: posted on the supervisor's thread, taken on
// the host's, which a thread-safe function of Node-API wakes: its loop may be of any kind. Must
// outlive the supervisor that posts. JavaScript thread, but for the RunListener's calls.
class EventQueue final : public RunListener {
 public:
  EventQueue() = default;
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // `on_event` is called on the JavaScript thread when there is something to take; what promises
  // resolve is run after it. False: the environment can't be woken, and nothing has to be closed.
  bool Open(napi_env env, std::function<void()> on_event);

  // All that has come since the last time, in order.
  std::vector<events::Item> Take();

  // Whether the end of this run has come, and was not yet taken.
  bool HasEndOf(std::uint64_t run);

  // Whether the environment goes on for the sake of news to come. Not at first.
  void KeepAlive(bool keep);

  // Nobody is told of news any more; what is posted from now on is dropped with the mailbox.
  void Silence();
  // Once nobody posts any more; the mailbox may go then.
  void Close();

  void OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) override;
  void OnEvent(std::uint64_t run, LiveEvent event) override;
  void OnConnection(std::uint64_t run, SandboxNetwork::RecordEvent event,
                    ConnectionRecord record) override;
  void OnEnd(std::uint64_t run, RunResult result) override;
  void OnPool(std::uint64_t request, Result<std::size_t> standing) override;
  void OnPort(std::uint64_t wait, PortState state) override;
  void OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) override;
  void OnSessionGone(std::uint64_t session, const std::string& reason) override;
  void OnNetworkQuestion(std::uint64_t question, std::uint64_t asker,
                         NetworkQuestion what) override;
  void OnNetworkQuestionGone(std::uint64_t question) override;
  void OnClosed() override {}  // who closes the supervisor waits for its thread

 private:
  void Post(events::Item item);

  // What the thread-safe function calls; it may be called once more after we are gone.
  struct Wake {
    std::function<void()> on_event;
  };
  static void OnWake(napi_env env, napi_value function, void* wake, void* data);

  napi_env env_ = nullptr;
  napi_threadsafe_function function_ = nullptr;
  Wake* wake_ = nullptr;  // the function's: its finalizer frees it
  bool keeps_alive_ = false;

  std::mutex mutex_;  // guards the next two
  std::vector<events::Item> items_;
  bool is_silent_ = false;
};

}  // namespace native_runner
