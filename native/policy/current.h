#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace native_runner {

// What the next sandbox gets of a runner, which lib replaces when it has changed; nullptr before
// the first one. Any thread.
template <typename View>
class Current {
 public:
  void Show(std::shared_ptr<const View> view) {
    const std::lock_guard lock(mutex_);
    view_ = std::move(view);
  }
  std::shared_ptr<const View> view() const {
    const std::lock_guard lock(mutex_);
    return view_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const View> view_;
};

}  // namespace native_runner
