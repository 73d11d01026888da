#include "supervise/sandbox/port_waits.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace native_runner {
namespace {

constexpr std::uint64_t kNsInMs = 1'000'000;
constexpr std::uint64_t kShare = 4;  // pause after a look, in multiples of its duration

}  // namespace

void PortWaits::Add(uv_loop_t* loop, const PortWait& wait) {
  loop_ = loop;
  auto made = std::make_unique<Waiting>();
  Waiting& waiting = *made;
  waiting.wait = wait;
  waiting.due_ns = uv_hrtime();
  const std::uint64_t id = wait.id;
  waiting_.emplace(id, std::move(made));
  uv_update_time(loop);  // the cached time may be old and would make the deadline early
  if (wait.timeout_ms) {
    waiting.deadline.Start(loop, *wait.timeout_ms, 0, [this, id] {
      LookFor(id);  // at the last moment, so at least once
      End(id, PortState::kTimedOut);
    });
  }
  Schedule();
}

// Returns the wait that is due first.
std::uint64_t PortWaits::NextId() const {
  const auto next = std::min_element(
      waiting_.begin(), waiting_.end(),
      [](const auto& one, const auto& other) { return one.second->due_ns < other.second->due_ns; });
  return next->first;
}

void PortWaits::Schedule() {
  if (waiting_.empty()) return next_.Stop();
  uv_update_time(loop_);  // the cached time is older than the look
  const std::uint64_t now = uv_hrtime();
  const std::uint64_t at = std::max({waiting_[NextId()]->due_ns, quiet_until_ns_, now});
  next_.Start(loop_, (at - now + kNsInMs - 1) / kNsInMs, 0, [this] { LookForNext(); });
}

void PortWaits::LookForNext() {
  if (waiting_.empty()) return;
  const std::uint64_t id = NextId();
  const std::uint64_t started = uv_hrtime();
  LookFor(id);
  const std::uint64_t now = uv_hrtime();
  quiet_until_ns_ = now + kShare * (now - started);
  const auto found = waiting_.find(id);
  if (found != waiting_.end())
    found->second->due_ns = now + found->second->wait.interval_ms * kNsInMs;
  Schedule();
}

void PortWaits::LookFor(std::uint64_t id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  const PortState state = look_(found->second->wait);
  if (state != PortState::kSilent) End(id, state);
}

void PortWaits::End(std::uint64_t id, PortState state) {
  if (waiting_.erase(id) == 0) return;
  if (waiting_.empty()) next_.Stop();
  on_end_(id, state);
}

void PortWaits::EndThose(const std::function<bool(const PortWait&)>& are) {
  std::vector<std::uint64_t> ending;
  for (const auto& [id, waiting] : waiting_) {
    if (are(waiting->wait)) ending.push_back(id);
  }
  for (const std::uint64_t id : ending)
    End(id, PortState::kGone);
}

void PortWaits::RunEnds(std::uint64_t run) {
  EndThose([run](const PortWait& wait) { return wait.run == run; });
}

void PortWaits::SessionEnds(std::uint64_t session) {
  EndThose([session](const PortWait& wait) { return wait.run == 0 && wait.session == session; });
}

void PortWaits::EndAll() {
  EndThose([](const PortWait& /*wait*/) { return true; });
}

}  // namespace native_runner
