#include "workspace/changes/scan.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "policy/text/digest.h"
#include "policy/transaction/file_systems.h"
#include "policy/transaction/journal.h"
#include "supervise/os/file.h"
#include "workspace/changes/patch.h"
#include "workspace/changes/same_file.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

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
    std::vector<HelperThread> threads;
    has_failed_ = workers->front().has_failed();
    Work(&workers->front(), [&] {
      if (waiting_.size() < kMany || !threads.empty()) return;
      for (std::size_t at = 1; at < workers->size(); ++at)
        if (auto thread =
                HelperThread::Start([this, worker = &(*workers)[at]] { Work(worker, [] {}); })) {
          threads.push_back(std::move(*thread));
        }
    });
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

constexpr const char* kOpaque = "user.overlay.opaque";
constexpr const char* kOrigin = "user.overlay.origin";

Error TooMany() {
  return Error{ErrorCode::kSetup, "the transaction has more than a million changes", ""};
}

// A directory that is still to be looked into: of the overlay's, the host's, or both.
struct Place {
  std::string path;
  bool in_upper = false;
  bool in_lower = false;
  bool conflict = false;  // of all below, as of the directory itself
  // What the host has changed from then on, and no baseline tells of, is a conflict.
  std::uint64_t since_ns = 0;
  // Nothing of the host's is seen in it: a directory above, or this one, was made anew.
  bool is_hiding = false;
};

// What one thread does of a scan: it looks into one directory after the other, and keeps what it
// finds.
class Scan {
 public:
  Scan(const ScannedTree& upper, const ScannedTree& lower, const Ledger& ledger,
       const Differences& known)
      : upper_(upper), lower_(lower), ledger_(ledger), known_(known) {}

  // Each finds more directories, which somebody is to look into.
  void Root() { ScanRoot(); }
  void Do(Place place) {
    if (IsStopped()) {
      error_ = Error{ErrorCode::kClosed, "the transaction was closed", ""};
    } else {
      ScanPlace(std::move(place));
    }
  }
  std::vector<Place> TakeFound() { return std::exchange(found_, {}); }
  bool has_failed() const { return error_.has_value(); }

  std::vector<Change>& changes() { return changes_; }
  Differences* differences() { return &differences_; }
  std::vector<std::string>& as_host() { return as_host_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  // One path of it, as the overlay has it and as the host has.
  struct Entry {
    std::string path;
    std::string name;
    std::optional<Node> now;
    std::optional<Node> before;
    bool conflict = false;
    std::uint64_t removed_ns = 0;  // since 1970; 0: it is there, or hidden by a directory above
  };

  // Its value, or none, and the first error is kept.
  template <typename T>
  std::optional<T> Taken(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = std::move(result.error());
    return std::nullopt;
  }

  void ScanRoot() {
    const auto upper = Taken(upper_.Open(""));
    const auto lower = Taken(lower_.Open(""));
    if (!upper || !lower) return;
    const auto now = Taken(upper->Look(""));
    const auto before = Taken(lower->Look(""));
    if (!now || !*now || !before || !*before) return;
    const Baseline* baseline = Find(".");
    if (!IsUntouched(**now, baseline) && !(*now)->HasSameAttributes(**before)) {
      const bool conflict = baseline != nullptr && HostHasChanged(*baseline, **before, false);
      Add({".", "", *now, *before, conflict}, nullptr);
    }
    found_.push_back({"", true, true, false, ledger_.looked_ns});
  }

  void ScanPlace(Place place) {
    std::optional<ScannedDirectory> upper;
    std::optional<ScannedDirectory> lower;
    if (place.in_upper) {
      auto opened = Taken(upper_.OpenIfThere(place.path));
      if (!opened || !*opened) return;  // it has just gone
      upper = std::move(*opened);
    }
    std::vector<std::string> names;
    if (upper) {
      auto taken = Taken(upper->Names());
      if (!taken) return;
      names = std::move(*taken);
    }
    // Overlayfs marks the uppermost of them only.
    if (upper && !place.is_hiding) {
      const auto is_opaque = Taken(HasAttribute(upper->descriptor(), kOpaque, "y"));
      if (!is_opaque) return;
      place.is_hiding = *is_opaque;
    }
    place.is_hiding = place.is_hiding || !upper;
    if (names.empty() && !place.is_hiding) return;  // the host's may be one that can't be read
    if (place.in_lower) {
      auto opened = Taken(lower_.OpenIfThere(place.path));
      if (!opened) return;
      lower = std::move(*opened);
    }
    for (const std::string& name : names) {
      if (place.path.empty() && IsBackupPath(name)) continue;  // it is no part of the project
      ScanEntry(place, name, Pointer(upper), Pointer(lower));
    }
    if (lower && place.is_hiding) ScanHidden(place, *lower, names);
  }

  // What the overlay does not show of a directory of the host's.
  void ScanHidden(const Place& place, const ScannedDirectory& lower,
                  const std::vector<std::string>& shown) {
    const auto names = Taken(lower.Names());
    if (!names) return;
    for (const std::string& name : *names) {
      if (!std::binary_search(shown.begin(), shown.end(), name)) {
        ScanEntry(place, name, nullptr, &lower);
      }
    }
  }

  static const ScannedDirectory* Pointer(const std::optional<ScannedDirectory>& directory) {
    return directory ? &*directory : nullptr;
  }

  void ScanEntry(const Place& place, const std::string& name, const ScannedDirectory* upper,
                 const ScannedDirectory* lower) {
    Entry entry;
    entry.name = name;
    entry.path = place.path.empty() ? name : place.path + "/" + name;
    if (upper != nullptr) {
      auto now = Taken(upper->Look(name));
      if (!now) return;
      if (!*now) return;  // it has just gone
      entry.now = *now;
    }
    if (lower != nullptr) {
      auto before = Taken(lower->Look(name));
      if (!before) return;
      entry.before = *before;
    }
    if (entry.now && entry.now->is_whiteout()) {
      entry.removed_ns = entry.now->changed_ns;
      entry.now.reset();
    }
    if (!entry.now && !entry.before) {
      as_host_.push_back(std::move(entry.path));
      return;
    }
    const Baseline* baseline = Find(entry.path);
    entry.conflict = place.conflict || HostChanged(place, entry, baseline) ||
                     (baseline != nullptr && lower != nullptr && entry.before &&
                      !HasNoted(*lower, name, baseline->contents));
    const std::uint64_t since_ns = baseline == nullptr ? place.since_ns : baseline->since_ns;
    Compare(entry, upper, lower, {baseline, since_ns, place.is_hiding});
  }

  const Baseline* Find(const std::string& path) const {
    const auto found = ledger_.baselines.find(path);
    return found == ledger_.baselines.end() ? nullptr : &found->second;
  }

  // A directory's own times change with what is in it: while it is shown, that is looked at by
  // itself.
  static bool HostChanged(const Place& place, const Entry& entry, const Baseline* baseline) {
    const bool is_shown = entry.now && entry.now->is_directory();
    if (baseline != nullptr) return HostHasChanged(*baseline, entry.before, !is_shown);
    if (!entry.before || !MayBeSince(entry.before->changed_ns, place.since_ns)) return false;
    return !entry.before->is_directory() || !is_shown;
  }

  // A directory that is as the host had it: the overlay keeps a copy of each that it needs, which
  // does not follow when the host changes its own.
  static bool IsUntouched(const Node& now, const Baseline* baseline) {
    return baseline != nullptr && !baseline->is_suspect && baseline->host &&
           baseline->host->is_directory() && now.HasSameAttributes(*baseline->host);
  }

  // What is known of a path besides what is there.
  struct Known {
    const Baseline* baseline;
    std::uint64_t since_ns;
    bool is_hiding;
  };

  void Compare(Entry& entry, const ScannedDirectory* upper, const ScannedDirectory* lower,
               const Known& known) {
    const bool is_directory = entry.now && entry.now->is_directory();
    const bool was_directory = entry.before && entry.before->is_directory();
    // A directory that was the host's, and is not there any more or has become something else.
    if (is_directory && !was_directory && !HadNothing(known.baseline) && WasCopied(entry)) {
      entry.conflict = true;
    }
    const bool is_merged = is_directory && was_directory;
    const bool is_same = (is_merged && IsUntouched(*entry.now, known.baseline)) ||
                         (entry.now && entry.before && HasSameContent(entry, *upper, *lower));
    if (!is_same) Add(entry, upper);
    if (is_same && !is_directory) as_host_.push_back(entry.path);
    if (is_directory || was_directory) {
      const bool conflict = entry.conflict && (!is_merged || IsOther(entry, known.baseline));
      found_.push_back(
          {entry.path, is_directory, was_directory, conflict, known.since_ns, known.is_hiding});
    }
  }

  bool HasSameContent(const Entry& entry, const ScannedDirectory& upper,
                      const ScannedDirectory& lower) {
    const Node& now = *entry.now;
    const Node& before = *entry.before;
    const bool is_read = now.is_file() && now.size == before.size && now.HasSameAttributes(before);
    const bool is_known = is_read && known_.Has(entry.path, now, before);
    const bool is_same = !is_known && AreSame({entry.now, entry.before}, entry.name, upper, lower);
    // What is written in the same tick of the clock has the same ctime.
    const bool is_settled =
        !MayBeSince(now.changed_ns, begun_ns_) && !MayBeSince(before.changed_ns, begun_ns_);
    if (is_read && !is_same && is_settled) differences_.Add(entry.path, now, before);
    return is_same;
  }

  // Whether the host has another directory there than it had: what is below is not what it was.
  static bool IsOther(const Entry& entry, const Baseline* baseline) {
    return baseline == nullptr || baseline->is_suspect || !baseline->host ||
           !baseline->host->IsSameInode(*entry.before);
  }

  // The host had nothing there: overlayfs takes a directory of the overlay's own for a copy too
  // once it has shown it over one of the host's, as after a commit that was undone.
  static bool HadNothing(const Baseline* baseline) {
    return baseline != nullptr && !baseline->is_suspect && !baseline->host;
  }

  // A directory of the overlay's that began as one of the host's.
  bool WasCopied(const Entry& entry) {
    const auto opened = Taken(upper_.OpenIfThere(entry.path));
    if (!opened || !*opened) return false;
    return Taken(HasAttribute((*opened)->descriptor(), kOrigin)).value_or(false);
  }

  void Add(const Entry& entry, const ScannedDirectory* upper) {
    if (changes_.size() >= kMostChanges) {
      error_ = TooMany();
      return;
    }
    Change change = ChangeOf(entry.path, {entry.now, entry.before});
    change.conflict = entry.conflict;
    if (!entry.now) change.changed_ns = entry.removed_ns;
    if (entry.now && entry.now->is_link() && upper != nullptr) {
      auto target = Taken(upper->TargetIfThere(entry.name));
      if (!target || !*target) return;  // it has just gone
      change.target = std::move(**target);
    }
    changes_.push_back(std::move(change));
  }

  const ScannedTree& upper_;
  const ScannedTree& lower_;
  const Ledger& ledger_;
  const Differences& known_;
  const std::uint64_t begun_ns_ = FileClock();
  Differences differences_;
  std::vector<Place> found_;
  std::vector<Change> changes_;
  std::vector<std::string> as_host_;
  std::optional<Error> error_;
};

// In the order of their paths.
Result<std::vector<Change>> Joined(std::vector<Scan>* scans) {
  std::vector<Change*> order;
  for (Scan& scan : *scans) {
    if (scan.error()) return *scan.error();
    for (Change& change : scan.changes())
      order.push_back(&change);
  }
  std::sort(order.begin(), order.end(),
            [](const Change* one, const Change* other) { return one->path < other->path; });
  std::vector<Change> changes;
  changes.reserve(order.size());
  for (Change* change : order)
    changes.push_back(std::move(*change));
  if (changes.size() > kMostChanges) return TooMany();
  return changes;
}

// With up to `threads` at once.
Result<std::vector<Change>> ScanWith(std::size_t threads, const ScannedTree& upper,
                                     const ScannedTree& lower, const Ledger& ledger,
                                     Differences* known, std::set<std::string>* as_host) {
  std::vector<Scan> scans(threads, Scan(upper, lower, ledger, *known));
  scans.front().Root();
  SharedWork<Place>(scans.front().TakeFound()).Run(&scans);
  auto changes = Joined(&scans);
  if (!changes) return changes;
  Differences found;
  for (Scan& scan : scans) {
    found.Merge(scan.differences());
    if (as_host == nullptr) continue;
    as_host->insert(scan.as_host().begin(), scan.as_host().end());
  }
  *known = std::move(found);
  return changes;
}

}  // namespace

Result<std::vector<Change>> ScanChanges(const ScannedTree& upper, const ScannedTree& lower,
                                        const Ledger& ledger, Differences* known,
                                        std::set<std::string>* as_host) {
  Differences none;
  if (known == nullptr) known = &none;
  constexpr unsigned kMostThreads = 4;
  const std::size_t threads = std::min(kMostThreads, std::thread::hardware_concurrency());
  // Of those that open what modes shut, one would shut it while another looks.
  const auto open = upper.WhereOpen();
  if (open && threads > 1) {
    auto changes = ScanWith(threads, open.value(), lower, ledger, known, as_host);
    if (changes) return changes;
  }
  return ScanWith(1, upper, lower, ledger, known, as_host);
}

namespace {

// No digest is like it: a file that can't be read is never the one that was seen.
constexpr const char* kUnread = "unread";

std::string DigestOfLink(const Change& change) {
  Sha256 digest;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(change.target.data());
  digest.Update({bytes, change.target.size()});
  return digest.Finish();
}

// One path after the other; the last directory stays open, for those of one come on end.
class Digests {
 public:
  explicit Digests(const ScannedTree& tree) : tree_(tree), hides_(HidesMappedWrites(tree.root())) {}

  // Empty: it can't be read.
  std::string Of(const Change& change) {
    if (change.type == Change::Type::kSymlink) return DigestOfLink(change);
    const auto [parent, name] = SplitPath(change.path);
    const ScannedDirectory* directory = Open(parent);
    return directory == nullptr ? "" : FileDigest(*directory, std::string(name));
  }

  bool NeedsOne(const Change& change, std::uint64_t begun_ns, bool may_be_open) {
    if (MayBeSince(change.changed_ns, begun_ns)) return true;
    if (change.type != Change::Type::kFile) return false;
    if (hides_ || !may_be_open) return hides_;
    const auto [parent, name] = SplitPath(change.path);
    const ScannedDirectory* directory = Open(parent);
    if (directory == nullptr) return true;
    const auto file = directory->OpenFile(std::string(name));
    if (!file) return true;
    if (!MayBeOpenForWriting(file.value().get())) return false;
    constexpr unsigned kAll =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    static_cast<void>(sync_file_range(file.value().get(), 0, 0, kAll));  // the digest tells too
    return true;
  }

 private:
  const ScannedDirectory* Open(std::string_view path) {
    if (!directory_ || path_ != path) {
      directory_.reset();  // what was opened for it is shut before
      auto opened = tree_.OpenIfThere(path);
      if (!opened || !*opened) return nullptr;
      directory_.emplace(std::move(**opened));
      path_ = path;
    }
    return &*directory_;
  }

  const ScannedTree& tree_;
  bool hides_;
  std::string path_;
  std::optional<ScannedDirectory> directory_;
};

// One whose version has times.
bool HasTimes(const Change& change) {
  return change.mode != 0 &&
         (change.type == Change::Type::kFile || change.type == Change::Type::kSymlink);
}

}  // namespace

void AddDigests(const ScannedTree& upper, std::uint64_t begun_ns, bool may_be_open,
                std::vector<Change>* changes) {
  Digests digests(upper);
  for (Change& change : *changes) {
    if (!HasTimes(change) || !digests.NeedsOne(change, begun_ns, may_be_open)) continue;
    change.digest = digests.Of(change);
    if (change.digest.empty()) change.digest = kUnread;
  }
}

void AddSeenDigests(const ScannedTree& upper,
                    const std::map<std::string, std::string, std::less<>>& seen,
                    std::vector<Change>* changes) {
  Digests digests(upper);
  for (Change& change : *changes) {
    const auto version = seen.find(change.path);
    if (!HasTimes(change) || version == seen.end()) continue;
    const std::string bare = VersionOf(change);
    if (version->second != bare && version->second.starts_with(bare + "-")) {
      change.digest = digests.Of(change);
    }
  }
}

}  // namespace native_runner
