#include "addon/environment/mailbox.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace native_runner {

bool Mailbox::Open(napi_env env, std::function<void()> on_news) {
  napi_value name = nullptr;
  if (napi_create_string_utf8(env, "native-runner", NAPI_AUTO_LENGTH, &name) != napi_ok) {
    return false;
  }
  auto wake = std::make_unique<Wake>();
  wake->on_news = std::move(on_news);
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

void Mailbox::OnWake(napi_env env, napi_value /*function*/, void* wake, void* /*data*/) {
  if (env == nullptr) return;  // the function is going away
  const std::function<void()>& on_news = static_cast<Wake*>(wake)->on_news;
  if (on_news) on_news();
}

std::vector<news::Item> Mailbox::Take() {
  std::vector<news::Item> items;
  const std::lock_guard lock(mutex_);
  items.swap(items_);
  return items;
}

bool Mailbox::HasEndOf(std::uint64_t run) {
  const std::lock_guard lock(mutex_);
  return std::any_of(items_.begin(), items_.end(), [run](const news::Item& item) {
    const auto* ended = std::get_if<news::Ended>(&item);
    return ended != nullptr && ended->run == run;
  });
}

void Mailbox::KeepAlive(bool keep) {
  if (keep == keeps_alive_) return;
  keeps_alive_ = keep;
  if (keep) {
    napi_ref_threadsafe_function(env_, function_);
  } else {
    napi_unref_threadsafe_function(env_, function_);
  }
}

void Mailbox::Silence() {
  wake_->on_news = nullptr;
  const std::lock_guard lock(mutex_);
  is_silent_ = true;
}

void Mailbox::Close() {
  napi_release_threadsafe_function(std::exchange(function_, nullptr), napi_tsfn_abort);
}

void Mailbox::OnChunk(std::uint64_t run, Stream stream, std::vector<std::uint8_t> bytes) {
  Post(news::Chunk{run, stream, std::move(bytes)});
}

void Mailbox::OnEvent(std::uint64_t run, LiveEvent event) {
  Post(news::Event{run, event});
}

void Mailbox::OnConnection(std::uint64_t run, SandboxNetwork::RecordEvent event,
                           ConnectionRecord record) {
  Post(news::Connection{run, event, std::move(record)});
}

void Mailbox::OnEnd(std::uint64_t run, RunResult result) {
  Post(news::Ended{run, std::move(result)});
}

void Mailbox::OnPool(std::uint64_t request, Result<std::size_t> standing) {
  Post(news::PoolAnswer{request, std::move(standing)});
}

void Mailbox::OnPort(std::uint64_t wait, PortState state) {
  Post(news::PortAnswer{wait, state});
}

void Mailbox::OnSessionOpen(std::uint64_t session, Result<LayerRecord> layers) {
  Post(news::SessionOpen{session, std::move(layers)});
}

void Mailbox::OnSessionGone(std::uint64_t session, const std::string& reason) {
  Post(news::SessionGone{session, reason});
}

void Mailbox::OnNetworkQuestion(std::uint64_t question, std::uint64_t asker, NetworkQuestion what) {
  Post(news::Question{question, asker, std::move(what)});
}

void Mailbox::OnNetworkQuestionGone(std::uint64_t question) {
  Post(news::QuestionGone{question});
}

void Mailbox::Post(news::Item item) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    first = items_.size() == 1 && !is_silent_;
  }
  // Outside the lock, so that who is woken does not have to wait for it.
  if (first) napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking);
}

}  // namespace native_runner
