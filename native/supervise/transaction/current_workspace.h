#pragma once

#include <memory>
#include <mutex>

#include "supervise/transaction/kept_workspace.h"

namespace native_runner {

// What the next who enters a transaction works on: one mount after the other, with moments in
// between in which there is none. Keeps none of them alive. Any thread.
class CurrentWorkspace {
 public:
  // nullptr: there is none now. Whoever has one holds it.
  std::shared_ptr<const KeptWorkspace> Enter() const {
    const std::lock_guard lock(mutex_);
    return workspace_.lock();
  }

  // nullptr: nobody enters any more.
  void Set(const std::shared_ptr<const KeptWorkspace>& workspace) {
    const std::lock_guard lock(mutex_);
    workspace_ = workspace;
  }

 private:
  mutable std::mutex mutex_;
  std::weak_ptr<const KeptWorkspace> workspace_;
};

}  // namespace native_runner
