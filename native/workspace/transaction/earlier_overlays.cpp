#include "workspace/transaction/earlier_overlays.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "workspace/tree/beneath.h"

namespace native_runner {
namespace {

constexpr const char* kUnmounted = "unmounted";
constexpr std::chrono::milliseconds kPatience{500};

// Reads what is in a queue; true once the watched file system is gone.
bool HasUnmountEvent(int queue) {
  alignas(inotify_event) std::array<char, 4096> block{};
  for (;;) {
    const ssize_t got = read(queue, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    const auto size = static_cast<std::size_t>(got);
    for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
      inotify_event event{};
      std::memcpy(&event, block.data() + at, sizeof(event));
      if ((event.mask & IN_UNMOUNT) != 0) return true;
      at += sizeof(event) + event.len;
    }
  }
}

bool WaitForUnmount(int queue, std::chrono::steady_clock::time_point until) {
  for (;;) {
    if (HasUnmountEvent(queue)) return true;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{queue, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
  }
}

}  // namespace

void EarlierOverlays::Resume(int transaction) {
  // An unlink makes sure that the file is there only as long as it is true.
  is_unknown_ = is_unknown_ || unlinkat(transaction, kUnmounted, 0) != 0;
}

void EarlierOverlays::Add(int root) {
  Descriptor queue(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  // IN_UNMOUNT comes with any mask; a directory that is mounted can't be deleted.
  const bool is_watched =
      queue.valid() && inotify_add_watch(queue.get(), DescriptorPath(root).c_str(),
                                         IN_DELETE_SELF | IN_ONLYDIR) >= 0;
  if (is_watched) {
    queues_.push_back(std::move(queue));
  } else {
    is_unknown_ = true;
  }
}

bool EarlierOverlays::AreGone() {
  if (is_unknown_) return false;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::erase_if(queues_,
                [until](const Descriptor& queue) { return WaitForUnmount(queue.get(), until); });
  return queues_.empty();
}

void EarlierOverlays::Close(int transaction) {
  if (AreGone()) {
    const Descriptor made(
        openat(transaction, kUnmounted, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  queues_.clear();
}

}  // namespace native_runner
