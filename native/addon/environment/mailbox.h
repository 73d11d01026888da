#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "addon/environment/news.h"
#include "supervise/supervisor.h"

namespace native_runner {

// Carries a supervisor's news to the JavaScript thread: posted on the supervisor's thread, taken on
// Node's, which a uv_async on its loop wakes. Must outlive the supervisor that posts. JavaScript
// thread, but for the RunListener's calls.
class Mailbox final : public RunListener {
 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  // `on_news` is called on the loop's thread when there is something to take. False: the loop can't
  // be used, and nothing has to be closed.
  bool Open(uv_loop_t* loop, std::function<void()> on_news);

  // All that has come since the last time, in order.
  std::vector<news::Item> Take();

  // Whether the end of this run has come, and was not yet taken.
  bool HasEndOf(std::uint64_t run);

  // Whether the loop goes on for the sake of news to come. Not at first.
  void KeepLoopAlive(bool keep);

  // No news come any more. `on_closed` may free the mailbox.
  void Close(std::function<void()> on_closed);

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
  void OnClosed() override;

 private:
  void Post(news::Item item);

  uv_async_t wake_{};
  std::function<void()> on_news_;
  std::function<void()> on_closed_;

  std::mutex mutex_;  // guards items_
  std::vector<news::Item> items_;
};

}  // namespace native_runner
