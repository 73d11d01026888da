#include "addon/environment/mailbox.h"

#include <algorithm>
#include <utility>

namespace native_runner {

bool Mailbox::Open(uv_loop_t* loop, std::function<void()> on_news) {
  on_news_ = std::move(on_news);
  wake_.data = this;
  const int status = uv_async_init(
      loop, &wake_, [](uv_async_t* wake) { static_cast<Mailbox*>(wake->data)->on_news_(); });
  if (status != 0) return false;
  KeepLoopAlive(false);
  return true;
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

void Mailbox::KeepLoopAlive(bool keep) {
  auto* handle = reinterpret_cast<uv_handle_t*>(&wake_);
  if (keep) {
    uv_ref(handle);
  } else {
    uv_unref(handle);
  }
}

void Mailbox::Close(std::function<void()> on_closed) {
  on_closed_ = std::move(on_closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_), [](uv_handle_t* handle) {
    const auto closed = std::move(static_cast<Mailbox*>(handle->data)->on_closed_);
    closed();
  });
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

void Mailbox::OnClosed() {
  Post(news::Closed{});
}

void Mailbox::Post(news::Item item) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    first = items_.size() == 1;
  }
  // Outside the lock, so that who is woken does not have to wait for it.
  if (first) uv_async_send(&wake_);
}

}  // namespace native_runner
