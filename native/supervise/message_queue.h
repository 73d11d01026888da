#pragma once

#include <uv.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace native_runner {

// Messages from any thread to the one that runs a libuv loop, in the order in which they were
// posted. Keeps the loop running until it is closed.
template <typename Message>
class MessageQueue {
 public:
  using OnMessages = std::function<void(std::vector<Message>)>;

  MessageQueue() = default;
  ~MessageQueue() = default;
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;

  // Before the loop runs. It is to be closed, and the loop to be run to its end, before this goes.
  void Open(uv_loop_t* loop, OnMessages on_messages) {
    on_messages_ = std::move(on_messages);
    wake_.data = this;
    uv_async_init(loop, &wake_,
                  [](uv_async_t* wake) { static_cast<MessageQueue*>(wake->data)->Deliver(); });
  }

  // Any thread. Nothing once it is closed.
  void Post(Message message) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      messages_.push_back(std::move(message));
      is_first = messages_.size() == 1;
      ++wakers_;  // the handle stays open until we have used it
    }
    // Outside the lock, so that the thread that is woken does not have to wait for it.
    if (is_first) uv_async_send(&wake_);
    --wakers_;
  }

  // The loop's thread. Once.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    while (wakers_ != 0)
      std::this_thread::yield();  // for as long as one system call of theirs takes
    uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
  }

  // The loop's thread.
  bool is_closing() const {
    return uv_is_closing(reinterpret_cast<const uv_handle_t*>(&wake_)) != 0;
  }

 private:
  void Deliver() {
    std::vector<Message> messages;
    {
      const std::lock_guard lock(mutex_);
      messages.swap(messages_);
    }
    on_messages_(std::move(messages));
  }

  OnMessages on_messages_;
  uv_async_t wake_{};
  std::mutex mutex_;  // guards the next two
  std::vector<Message> messages_;
  bool is_closed_ = false;
  std::atomic<int> wakers_ = 0;  // who is about to use wake_
};

}  // namespace native_runner
