#include "addon/environment/event_queue.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace native_runner {

bool EventQueue::Open(napi_env env, std::function<void()> on_event) {
  napi_value name = nullptr;
  if (napi_create_string_utf8(env, "native-runner", NAPI_AUTO_LENGTH, &name) != napi_ok) {
    return false;
  }
  auto wake = std::make_unique<Wake>();
  wake->on_event = std::move(on_event);
  const auto free_wake = [](napi_env, void* freed, void*) { delete static_cast<Wake*>(freed); };
  if (napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, wake.get(), free_wake,
                                      wake.get(), OnWake, &function_) != napi_ok) {
    return false;
  }
  wake_ = wake.release();
  env_ = env;
  napi_unref_threadsafe_function(env_, function_);
  return true;
}

void EventQueue::OnWake(napi_env env, napi_value /*function*/, void* wake, void* /*data*/) {
  if (env == nullptr) return;  // the function is being destroyed
  const std::function<void()>& on_event = static_cast<Wake*>(wake)->on_event;
  if (on_event) on_event();
}

std::vector<events::Item> EventQueue::Take() {
  std::vector<events::Item> items;
  const std::lock_guard lock(mutex_);
  items.swap(items_);
  return items;
}

bool EventQueue::HasEndOf(std::uint64_t run) {
  const std::lock_guard lock(mutex_);
  return std::any_of(items_.begin(), items_.end(), [run](const events::Item& item) {
    const auto* ended = std::get_if<events::Ended>(&item);
    return ended != nullptr && ended->run == run;
  });
}

void EventQueue::KeepAlive(bool keep) {
  if (keep == keeps_alive_) return;
  keeps_alive_ = keep;
  if (keep) {
    napi_ref_threadsafe_function(env_, function_);
  } else {
    napi_unref_threadsafe_function(env_, function_);
  }
}

void EventQueue::Silence() {
  wake_->on_event = nullptr;
  const std::lock_guard lock(mutex_);
  is_silent_ = true;
}

void EventQueue::Close() {
  napi_release_threadsafe_function(std::exchange(function_, nullptr), napi_tsfn_abort);
}

void EventQueue::OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) {
  Post(events::Chunk{run, stream, std::move(bytes)});
}

void EventQueue::OnEvent(std::uint64_t run, LiveEvent event) {
  Post(events::Event{run, event});
}

void EventQueue::OnConnection(std::uint64_t run, RecordEvent event, ConnectionRecord record) {
  Post(events::Connection{run, event, std::move(record)});
}

void EventQueue::OnEnd(std::uint64_t run, RunResult result) {
  Post(events::Ended{run, std::move(result)});
}

void EventQueue::OnPool(std::uint64_t request, Result<std::size_t> prewarmed) {
  Post(events::PoolAnswer{request, std::move(prewarmed)});
}

void EventQueue::OnPort(std::uint64_t wait, PortState state) {
  Post(events::PortAnswer{wait, state});
}

void EventQueue::OnForward(std::uint64_t request, ForwardAnswer answer) {
  Post(events::ForwardDone{request, answer});
}

void EventQueue::OnPath(std::uint64_t request, const std::optional<Error>& unanswered) {
  Post(events::PathAnswer{request, unanswered});
}

void EventQueue::OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) {
  Post(events::SessionOpen{session, std::move(layers)});
}

void EventQueue::OnSessionGone(std::uint64_t session, const std::string& reason) {
  Post(events::SessionGone{session, reason});
}

void EventQueue::OnNetworkQuestion(std::uint64_t question, std::uint64_t asker,
                                   NetworkQuestion what) {
  Post(events::Question{question, asker, std::move(what)});
}

void EventQueue::OnNetworkQuestionGone(std::uint64_t question) {
  Post(events::QuestionGone{question});
}

void EventQueue::Post(events::Item item) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    first = items_.size() == 1 && !is_silent_;
  }
  // Called outside the lock, so that the woken thread does not have to wait for it.
  if (first) napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking);
}

}  // namespace native_runner
