#include "workspace/transaction/freshness.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "policy/transaction/file_systems.h"
#include "protocol/identity.h"
#include "supervise/transaction/mounted_workspace.h"
#include "workspace/tree/beneath.h"

namespace native_runner {
namespace {

constexpr std::uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB;
constexpr std::uint32_t kOfItself = IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kNotWhole = IN_Q_OVERFLOW | IN_UNMOUNT;

// A directory that has come, gone or moved: one whose mode alone has changed is still watched.
bool ChangesTree(std::uint32_t mask) {
  constexpr std::uint32_t kMoves = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
  return (mask & (kNotWhole | kOfItself)) != 0 || ((mask & IN_ISDIR) != 0 && (mask & kMoves) != 0);
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
  constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
  if (!ReadNames(directory.descriptor(), kUnlimited, entries)) return false;
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
  const std::uint32_t mask = kNames | kOfItself | IN_ONLYDIR;
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

namespace {

bool Shows(int overlay, const std::string& path, const Node& file) {
  const auto shown = OpenBeneath(overlay, path, O_PATH, "open");
  if (!shown) return false;
  const auto now = NodeOf(shown.value().get());
  return now && now.value().inode == file.inode;
}

bool Has(int upper, const std::string& path) {
  return static_cast<bool>(OpenBeneath(upper, path, O_PATH, "open"));
}

// The files and links of the host's of which an overlay (its root, O_PATH) shows another file, or
// none: a running command holds the old one open, or works in a directory that was there before,
// and whoever comes to that name gets it too. Looked at are those that have changed since a moment
// by their ctime, and those in a directory that has. Reported by the inode's number, which
// overlayfs gives files of the lower directory as it is there ("Inode properties" in
// Documentation/filesystems/overlayfs.rst). What `upper` (the overlay's upper directory) has, a
// command has changed, and is none of them. Directories that can't be read are passed over. Any
// thread; as long as it takes to look at each of the host's files.
std::set<std::string, std::less<>> FindPinned(const ScannedTree& host, int overlay, int upper,
                                              std::uint64_t since_ns) {
  std::set<std::string, std::less<>> pinned;
  std::vector<std::string> waiting = {""};
  while (!waiting.empty()) {
    const std::string path = std::move(waiting.back());
    waiting.pop_back();
    const auto directory = host.OpenIfThere(path);
    if (!directory || !directory.value()) continue;
    const auto names = directory.value()->Names();
    const auto itself = directory.value()->Look("");
    if (!names || !itself || !itself.value()) continue;
    // Another one may have come in its place, with files that have not changed.
    const bool is_new = MayBeSince(itself.value()->changed_ns, since_ns);
    for (const std::string& name : names.value()) {
      const auto node = directory.value()->Look(name);
      if (!node || !node.value()) continue;
      const Node& file = *node.value();
      std::string below = path.empty() ? name : path + "/" + name;
      if (file.is_directory()) {
        waiting.push_back(std::move(below));
      } else if ((is_new || MayBeSince(file.changed_ns, since_ns)) &&
                 !Shows(overlay, below, file) && !Has(upper, below)) {
        pinned.insert(std::move(below));
      }
    }
  }
  return pinned;
}

// What is no mount shows its files as they are.
bool MayBeStale(const MountedWorkspace& kept) {
  return kept.was_entered && kept.mount_namespace.valid();
}

}  // namespace

// With the lock.
bool Freshness::HasMissed() {
  if (!edits_ || edits_->HasSome()) has_missed_ = true;
  if (edits_ && !edits_->is_whole()) edits_.reset();  // the next `Watch` begins anew
  return has_missed_;
}

bool Freshness::IsStale() {
  const auto kept = current_->Enter();
  if (!kept) return true;
  if (!MayBeStale(*kept)) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return !lock || HasMissed();
}

std::optional<Error> Freshness::Freshen(const std::string& workspace, int upper) {
  const std::lock_guard lock(mutex_);
  const auto kept = current_->Enter();
  if (!kept || !MayBeStale(*kept) || !HasMissed()) return std::nullopt;
  // What the host changes from here on is missed again.
  has_missed_ = false;
  const std::uint64_t begun = FileClock();
  if (auto error = LookAgain(launcher_, *kept)) {
    has_missed_ = true;
    return error;
  }
  const std::uint64_t earlier = std::exchange(fresh_ns_, begun);
  constexpr long kOwners = 2;  // the transaction, and `kept`
  if (kept.use_count() <= kOwners) return std::nullopt;
  auto host = OpenPath(workspace.c_str(), O_RDONLY | O_DIRECTORY);
  if (!host) {
    has_missed_ = true;
    fresh_ns_ = earlier;
    return host.error();
  }
  auto pinned = FindPinned(ScannedTree(std::move(*host)), kept->root.get(), upper, earlier);
  // Whoever held it may let it go: the next looks again.
  if (!pinned.empty()) has_missed_ = true;
  pinned_.merge(pinned);
  return std::nullopt;
}

std::set<std::string, std::less<>> Freshness::pinned() {
  const std::lock_guard lock(mutex_);
  return pinned_;
}

void Freshness::BeginAnew() {
  const std::lock_guard lock(mutex_);
  static_cast<void>(HasMissed());
  has_missed_ = false;
  pinned_.clear();
  fresh_ns_ = FileClock();
}

std::uint64_t Freshness::FreshUntil(std::uint64_t now) {
  const std::lock_guard lock(mutex_);
  if (!HasMissed()) fresh_ns_ = now;
  return fresh_ns_;
}

void Freshness::End() {
  Stop();
  const std::lock_guard lock(mutex_);
  edits_.reset();
}

void Freshness::Watch(const ScannedTree& host) {
  {
    const std::lock_guard lock(mutex_);
    const auto kept = current_->Enter();
    if (edits_ || is_blind_ || is_stopped_ || !kept || !MayBeStale(*kept)) return;
    if (std::chrono::steady_clock::now() < next_watch_) return;
  }
  constexpr int kRest = 20;
  const auto begun = std::chrono::steady_clock::now();
  auto edits = HostEdits::Watch(host, is_stopped_);
  const auto ended = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  next_watch_ = ended + kRest * (ended - begun);
  if (is_stopped_) return;
  if (edits) {
    edits_ = std::move(edits);
    has_missed_ = true;  // nobody has watched until now
  } else {
    is_blind_ = true;
  }
}

}  // namespace native_runner
