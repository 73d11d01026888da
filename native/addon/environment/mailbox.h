#pragma once

#include <node_api.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "addon/environment/news.h"
#include "supervise/supervisor.h"

namespace native_runner {

// Carries a supervisor's news to the JavaScript thread: posted on the supervisor's thread, taken on
// the host's, which a thread-safe function of Node-API wakes: its loop may be of any kind. Must
// outlive the supervisor that posts. JavaScript thread, but for the RunListener's calls.
class Mailbox final : public RunListener {
 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // `on_news` is called on the JavaScript thread when there is something to take; what promises
  // resolve is run after it. False: the environment can't be woken, and nothing has to be closed.
  bool Open(napi_env env, std::function<void()> on_news);

  // All that has come since the last time, in order.
  std::vector<news::Item> Take();

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
  void Post(news::Item item);

  // What the thread-safe function calls; it may be called once more after we are gone.
  struct Wake {
    std::function<void()> on_news;
  };
  static void OnWake(napi_env env, napi_value function, void* wake, void* data);

  napi_env env_ = nullptr;
  napi_threadsafe_function function_ = nullptr;
  Wake* wake_ = nullptr;  // the function's: its finalizer frees it
  bool keeps_alive_ = false;

  std::mutex mutex_;  // guards the next two
  std::vector<news::Item> items_;
  bool is_silent_ = false;
};

}  // namespace native_runner
