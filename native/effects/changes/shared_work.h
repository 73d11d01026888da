#pragma once

#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace native_runner {

// Pieces of work of which each may turn up others, done by several at once: by the thread that
// calls `Run`, and by threads of its own, which are started as soon as there is enough to do and
// are gone when it returns. A worker has `Do(Item)`, `TakeFound()`, which gives what turned up, and
// `has_failed()`, after which no more is begun. Each is used by one thread at a time.
template <typename Item>
class SharedWork {
 public:
  explicit SharedWork(std::vector<Item> first) : waiting_(std::move(first)) {}

  // Until nothing is left, or one has failed. The first of the workers is this thread's.
  template <typename Worker>
  void Run(std::vector<Worker>* workers) {
    std::vector<std::thread> threads;
    has_failed_ = workers->front().has_failed();
    Work(&workers->front(), [&] {
      if (waiting_.size() < kMany || !threads.empty()) return;
      for (std::size_t at = 1; at < workers->size(); ++at)
        threads.emplace_back([this, worker = &(*workers)[at]] { Work(worker, [] {}); });
    });
    for (std::thread& thread : threads)
      thread.join();
  }

 private:
  static constexpr std::size_t kMany = 16;  // a thread takes about as long to start as some of them

  // `begins` is called before each piece of work, under the lock.
  template <typename Worker, typename Begins>
  void Work(Worker* worker, const Begins& begins) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return has_failed_ || !waiting_.empty() || busy_ == 0; });
      if (has_failed_ || waiting_.empty()) return;
      begins();
      Item item = std::move(waiting_.back());
      waiting_.pop_back();
      ++busy_;
      lock.unlock();
      worker->Do(std::move(item));
      std::vector<Item> found = worker->TakeFound();
      lock.lock();
      --busy_;
      has_failed_ = has_failed_ || worker->has_failed();
      waiting_.insert(waiting_.end(), std::make_move_iterator(found.begin()),
                      std::make_move_iterator(found.end()));
      changed_.notify_all();
    }
  }

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<Item> waiting_;
  std::size_t busy_ = 0;
  bool has_failed_ = false;
};

}  // namespace native_runner
