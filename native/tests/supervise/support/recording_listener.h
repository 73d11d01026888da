#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "supervise/supervisor.h"
#include "tests/support/slow.h"

namespace native_runner {

// Keeps what a supervisor reports. Called on its thread, asked on the test's.
class RecordingListener : public RunListener {
 public:
  using Clock = std::chrono::steady_clock;
  struct Ended {
    RunResult result;
    Clock::time_point when;
    int times = 0;
  };

  void OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) override {
    const std::lock_guard lock(mutex_);
    chunks_[{run, stream}].append(bytes.begin(), bytes.end());
    if (ended_.contains(run)) ++late_chunks_;
  }

  void OnEvent(std::uint64_t run, LiveEvent event) override {
    const std::lock_guard lock(mutex_);
    events_[run].push_back(event);
    changed_.notify_all();
  }

  void OnEnd(std::uint64_t run, RunResult result) override {
    const std::lock_guard lock(mutex_);
    Ended& ended = ended_[run];
    ended.result = std::move(result);
    ended.when = Clock::now();
    ++ended.times;
    order_.push_back(run);
    if (closed_) ++late_ends_;
    changed_.notify_all();
  }

  void OnPool(std::uint64_t request, Result<std::size_t> prewarmed) override {
    const std::lock_guard lock(mutex_);
    answers_.emplace(request, std::move(prewarmed));
    changed_.notify_all();
  }

  void OnForward(std::uint64_t /*request*/, ForwardAnswer /*answer*/) override {}
  void OnPort(std::uint64_t wait, PortState state) override {
    const std::lock_guard lock(mutex_);
    ports_.emplace(wait, state);
    changed_.notify_all();
  }

  void OnPath(std::uint64_t /*request*/, const std::optional<Error>& /*unanswered*/) override {}

  void OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) override {
    const std::lock_guard lock(mutex_);
    opened_.emplace(session, std::move(layers));
    changed_.notify_all();
  }

  void OnSessionGone(std::uint64_t session, const std::string& reason) override {
    const std::lock_guard lock(mutex_);
    gone_.emplace(session, reason);
    changed_.notify_all();
  }

  void OnConnection(std::uint64_t /*run*/, RecordEvent /*event*/,
                    ConnectionRecord /*record*/) override {}
  void OnNetworkQuestion(std::uint64_t question, std::uint64_t asker,
                         NetworkQuestion what) override {
    const std::lock_guard lock(mutex_);
    questions_.emplace(question, std::pair(asker, std::move(what)));
    changed_.notify_all();
  }

  void OnNetworkQuestionGone(std::uint64_t question) override {
    const std::lock_guard lock(mutex_);
    gone_questions_.push_back(question);
    changed_.notify_all();
  }

  void OnClosed() override {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  // The run's end; nullptr when it does not come in time. Valid until the listener goes.
  const Ended* Wait(std::uint64_t run, int timeout_ms = Slow(60'000)) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                        [&] { return ended_.contains(run); });
    return came ? &ended_[run] : nullptr;
  }

  // The layers of a session's commands, or why there is none; nullptr when it does not come in
  // time.
  const Result<LayerRecord>* WaitOpen(std::uint64_t session, int timeout_ms = Slow(60'000)) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                        [&] { return opened_.contains(session); });
    return came ? &opened_.at(session) : nullptr;
  }

  // Why a session has ended; empty when it does not in time.
  std::string WaitGone(std::uint64_t session, int timeout_ms = Slow(60'000)) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                      [&] { return gone_.contains(session); });
    const auto found = gone_.find(session);
    return found == gone_.end() ? "" : found->second;
  }

  // False when a live process does not tell so much in time.
  bool WaitEvents(std::uint64_t run, std::size_t count, int timeout_ms = Slow(60'000)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                             [&] { return events_[run].size() >= count; });
  }

  std::vector<LiveEvent> events(std::uint64_t run) {
    const std::lock_guard lock(mutex_);
    return events_[run];
  }

  // How a wait for a port ended; kSilent when it does not in time.
  PortState WaitPort(std::uint64_t wait, int timeout_ms = Slow(60'000)) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                      [&] { return ports_.contains(wait); });
    const auto found = ports_.find(wait);
    return found == ports_.end() ? PortState::kSilent : found->second;
  }

  // The answer to a request of a pool's; nullptr when it does not come in time.
  const Result<std::size_t>* WaitAnswer(std::uint64_t request, int timeout_ms = Slow(60'000)) {
    std::unique_lock lock(mutex_);
    const bool came = changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                        [&] { return answers_.contains(request); });
    return came ? &answers_.at(request) : nullptr;
  }

  bool WaitClosed(int timeout_ms = Slow(60'000)) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return closed_; });
  }

  std::string Chunks(std::uint64_t run, Stream stream) {
    const std::lock_guard lock(mutex_);
    return chunks_[{run, stream}];
  }

  std::vector<std::uint64_t> order() {
    const std::lock_guard lock(mutex_);
    return order_;
  }

  // Counts events that came after the last one that may come.
  int late() {
    const std::lock_guard lock(mutex_);
    int count = late_chunks_ + late_ends_;
    for (const auto& [run, ended] : ended_)
      count += ended.times - 1;
    return count;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Ended> ended_;
  std::map<std::pair<std::uint64_t, Stream>, std::string> chunks_;
  std::map<std::uint64_t, std::vector<LiveEvent>> events_;
  std::vector<std::uint64_t> order_;
  std::map<std::uint64_t, Result<std::size_t>> answers_;
  std::map<std::uint64_t, Result<LayerRecord>> opened_;
  std::map<std::uint64_t, std::string> gone_;
  std::map<std::uint64_t, PortState> ports_;
  std::map<std::uint64_t, std::pair<std::uint64_t, NetworkQuestion>> questions_;
  std::vector<std::uint64_t> gone_questions_;
  bool closed_ = false;
  int late_chunks_ = 0;
  int late_ends_ = 0;
};

}  // namespace native_runner
