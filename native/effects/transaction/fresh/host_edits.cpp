#include "effects/transaction/fresh/host_edits.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "effects/tree/beneath.h"
#include "effects/tree/descent.h"
#include "protocol/decimal.h"

namespace native_runner {
namespace {

constexpr std::uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB;
constexpr std::uint32_t kTop = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kNotWhole = IN_Q_OVERFLOW | IN_UNMOUNT;

// A directory that has come, gone or moved: one whose mode alone has changed is still watched.
bool ChangesTree(std::uint32_t mask) {
  constexpr std::uint32_t kMoves = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
  return (mask & (kNotWhole | kTop)) != 0 || ((mask & IN_ISDIR) != 0 && (mask & kMoves) != 0);
}

std::atomic<int> watching = 0;  // in this process

// How many directories one of them may watch.
std::size_t MostDirectories() {
  constexpr std::uint64_t kShare = 8;
  std::array<char, 32> text{};
  const auto file = OpenPath("/proc/sys/fs/inotify/max_user_watches", O_RDONLY);
  if (!file || read(file.value().get(), text.data(), text.size() - 1) <= 0) return 0;
  const char* at = text.data();
  std::uint64_t most = 0;
  if (!TakeDecimal(&at, &most)) return 0;
  return std::min<std::uint64_t>(most / kShare, HostEdits::kMostDirectories);
}

// The names of directories in it; false: they can't be had.
bool DirectoriesIn(const ScannedDirectory& directory, std::vector<std::string>* names) {
  std::vector<NamedType> entries;
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  if (!ReadNames(directory.descriptor(), kAll, entries)) return false;
  for (NamedType& entry : entries) {
    bool is_directory = entry.type == DT_DIR;
    if (entry.type == DT_UNKNOWN) {
      const auto node = directory.Look(entry.name);
      if (!node) return false;
      is_directory = node.value() && node.value()->is_directory();
    }
    if (is_directory) names->push_back(std::move(entry.name));
  }
  return true;
}

}  // namespace

HostEdits::HostEdits(Descriptor queue) : queue_(std::move(queue)) {
  ++watching;
}

HostEdits::~HostEdits() {
  --watching;
}

bool HostEdits::Add(int directory) const {
  const std::uint32_t mask = kNames | kTop | IN_ONLYDIR;
  return inotify_add_watch(queue_.get(), DescriptorPath(directory).c_str(), mask) >= 0;
}

std::unique_ptr<HostEdits> HostEdits::Watch(const ScannedTree& tree,
                                            const std::atomic<bool>& stop) {
  if (watching >= kMostAtOnce) return nullptr;
  Descriptor queue(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!queue.valid()) return nullptr;
  const std::size_t most = MostDirectories();
  std::unique_ptr<HostEdits> edits(new HostEdits(std::move(queue)));
  std::vector<std::string> waiting = {""};
  for (std::size_t seen = 0; !waiting.empty(); ++seen) {
    if (seen == most || stop) return nullptr;
    const std::string path = std::move(waiting.back());
    waiting.pop_back();
    const auto directory = tree.OpenIfThere(path);
    if (!directory) return nullptr;
    if (!directory.value()) continue;  // it has gone, as its parent's watch tells
    // Watched before it is read: what comes while it is read is told.
    if (!edits->Add(directory.value()->descriptor())) return nullptr;
    std::vector<std::string> names;
    if (!DirectoriesIn(*directory.value(), &names)) return nullptr;
    for (const std::string& name : names)
      waiting.push_back(path.empty() ? name : path + "/" + name);
  }
  return edits;
}

bool HostEdits::HasSome() {
  alignas(inotify_event) std::array<char, 16'384> block{};
  bool has_some = false;
  // There is no more to learn from a queue that is filled as fast as it is read, nor once a
  // directory has come or gone.
  constexpr int kMostReads = 256;
  for (int left = kMostReads; is_whole_; --left) {
    if (left == 0) is_whole_ = false;
    const ssize_t got = read(queue_.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0 || errno != EAGAIN) is_whole_ = false;
      return has_some || !is_whole_;
    }
    const auto size = static_cast<std::size_t>(got);
    for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
      inotify_event event{};
      std::memcpy(&event, block.data() + at, sizeof(event));
      at += sizeof(event) + event.len;
      has_some = true;
      if (ChangesTree(event.mask)) is_whole_ = false;
    }
  }
  return true;
}

}  // namespace native_runner
