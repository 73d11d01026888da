#include "workspace/changes/same_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "policy/transaction/file_systems.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

constexpr std::size_t kBlock = std::size_t{128} << 10U;
constexpr std::size_t kFirstBlock = std::size_t{4} << 10U;
constexpr std::string_view kUsers = "user.";
constexpr std::string_view kOverlays = "user.overlay.";

// Reads up to the block's size; -1 if the file can't be read.
ssize_t ReadBlock(int file, off_t offset, std::vector<char>* block) {
  std::size_t filled = 0;
  while (filled < block->size()) {
    const ssize_t got = pread(file, block->data() + filled, block->size() - filled,
                              offset + static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(filled);
}

// Returns the first offset from this one on at which a file may have other bytes than zeros: `size`
// if it ends in a hole. A file system that knows of no holes has them nowhere.
std::uint64_t NextData(int file, std::uint64_t offset, std::uint64_t size) {
  const off_t data = lseek(file, static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0) return errno == ENXIO ? size : offset;
  return std::min(static_cast<std::uint64_t>(data), size);
}

// Calls `call` with a buffer of the size that it asks for, and again if the value has grown.
template <typename Call>
std::optional<std::string> Grown(const Call& call) {
  for (int left = 8; left > 0; --left) {
    const ssize_t size = call(nullptr, 0);
    if (size <= 0) return size == 0 ? std::optional<std::string>("") : std::nullopt;
    std::string bytes(static_cast<std::size_t>(size), '\0');
    const ssize_t got = call(bytes.data(), bytes.size());
    if (got < 0 && errno == ERANGE) continue;
    if (got < 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::string> Value(int file, const char* name) {
  return Grown(
      [file, name](char* to, std::size_t size) { return fgetxattr(file, name, to, size); });
}

std::optional<std::map<std::string, std::string>> Attributes(int file) {
  std::map<std::string, std::string> attributes;
  const auto names =
      Grown([file](char* to, std::size_t size) { return flistxattr(file, to, size); });
  if (!names) return errno == ENOTSUP ? std::optional(attributes) : std::nullopt;
  const char* const end = names->data() + names->size();
  for (const char* at = names->data(); at < end; at += std::strlen(at) + 1) {
    const std::string_view name = at;
    const bool is_users = name.starts_with(kUsers) && !name.starts_with(kOverlays);
    if (!is_users && !IsAccessList(name)) continue;
    auto value = Value(file, at);
    if (!value) return std::nullopt;
    attributes.emplace(name, std::move(*value));
  }
  return attributes;
}

}  // namespace

bool HaveSameBytes(int one, int other, std::uint64_t size) {
  std::vector<char> first;
  std::vector<char> second;
  for (std::uint64_t offset = 0; offset < size; offset += first.size()) {
    if (IsStopped()) return false;
    // Nothing can be told apart where both have a hole.
    offset = std::min(NextData(one, offset, size), NextData(other, offset, size));
    if (offset >= size) break;
    // Most files are small, or differ soon.
    const std::size_t most = offset == 0 ? kFirstBlock : kBlock;
    first.resize(std::min<std::uint64_t>(most, size - offset));
    second.resize(first.size());
    const auto wanted = static_cast<ssize_t>(first.size());
    const auto at = static_cast<off_t>(offset);
    // A file that has become shorter meanwhile differs.
    if (ReadBlock(one, at, &first) != wanted || ReadBlock(other, at, &second) != wanted) {
      return false;
    }
    if (std::memcmp(first.data(), second.data(), first.size()) != 0) return false;
  }
  return true;
}

std::optional<std::uint64_t> DigestOf(int file) {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  struct statx status {};
  if (statx(file, "", AT_EMPTY_PATH, STATX_SIZE, &status) != 0) return std::nullopt;
  const std::uint64_t end = status.stx_size;
  std::vector<char> block(kBlock);
  std::uint64_t digest = 0;
  for (std::uint64_t offset = 0; offset < end; offset += kBlock) {
    if (IsStopped()) return std::nullopt;
    offset = NextData(file, offset, end) / kBlock * kBlock;
    if (offset >= end) break;
    const ssize_t got = ReadBlock(file, static_cast<off_t>(offset), &block);
    if (got < 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(got);
    // Zeros count as a hole does, which another file may have there.
    const auto read = block.begin() + got;
    if (std::all_of(block.begin(), read, [](char byte) { return byte == 0; })) continue;
    digest = (digest ^ offset) * kPrime;
    for (std::size_t at = 0; at < size; at += kWord) {
      std::uint64_t word = 0;
      std::memcpy(&word, block.data() + at, std::min(kWord, size - at));
      digest = (digest ^ word) * kPrime;
      digest ^= digest >> 29U;
    }
  }
  return digest;
}

bool HaveSameAttributes(int one, int other) {
  const auto first = Attributes(one);
  const auto second = Attributes(other);
  return first && second && *first == *second;
}

bool CopyAttributes(int from, int to) {
  const auto attributes = Attributes(from);
  if (!attributes) return false;
  for (const auto& [name, value] : *attributes)
    if (fsetxattr(to, name.c_str(), value.data(), value.size(), 0) != 0) return false;
  // A new file inherits access control lists from its directory.
  const auto inherited = Attributes(to);
  if (!inherited) return false;
  for (const auto& [name, value] : *inherited) {
    const bool is_foreign = IsAccessList(name) && attributes->count(name) == 0;
    if (is_foreign && fremovexattr(to, name.c_str()) != 0) return false;
  }
  return true;
}

Result<bool> HasAttribute(int file, const char* name, std::optional<std::string_view> value) {
  constexpr std::size_t kLongestNote = 64;
  std::array<char, kLongestNote> bytes{};
  const ssize_t size = fgetxattr(file, name, bytes.data(), value ? bytes.size() : 0);
  if (size >= 0) {
    return !value || std::string_view(bytes.data(), static_cast<std::size_t>(size)) == *value;
  }
  if (errno == ENODATA || errno == ENOTSUP) return false;
  if (errno == ERANGE) return false;  // longer than any expected value
  return SystemError("fgetxattr", errno);
}

namespace {

Change::Type TypeOf(const Node& node) {
  if (node.is_directory()) return Change::Type::kDirectory;
  if (node.is_file()) return Change::Type::kFile;
  return node.is_link() ? Change::Type::kSymlink : Change::Type::kOther;
}

std::uint64_t SizeOf(const Node& node) {
  return node.is_file() || node.is_link() ? node.size : 0;
}

}  // namespace

Change ChangeOf(const std::string& path, const TwoNodes& nodes) {
  Change change;
  change.path = path;
  change.type = TypeOf(nodes.now ? *nodes.now : *nodes.before);
  change.kind = !nodes.now      ? Change::Kind::kDeleted
                : !nodes.before ? Change::Kind::kAdded
                                : Change::Kind::kModified;
  if (nodes.now) {
    change.mode = nodes.now->mode;
    change.uid = nodes.now->uid;
    change.gid = nodes.now->gid;
    change.size = SizeOf(*nodes.now);
    change.inode = nodes.now->inode;
    change.changed_ns = nodes.now->changed_ns;
  }
  if (nodes.before) {
    change.previous_mode = nodes.before->mode;
    change.previous_size = SizeOf(*nodes.before);
  }
  return change;
}

bool AreSame(const TwoNodes& nodes, const std::string& name, const ScannedDirectory& now_in,
             const ScannedDirectory& before_in) {
  if (!nodes.now || !nodes.before) return false;
  const Node& now = *nodes.now;
  const Node& before = *nodes.before;
  if (!now.HasSameAttributes(before)) return false;
  if (now.is_directory()) return true;
  if (now.is_link()) {
    const auto target = now_in.Target(name);
    const auto previous = before_in.Target(name);
    return target && previous && target.value() == previous.value();
  }
  if (!now.is_file()) return now.device_number == before.device_number;
  if (now.size != before.size) return false;
  const auto one = now_in.OpenFile(name);
  const auto other = before_in.OpenFile(name);
  return one && other && HaveSameBytes(one.value().get(), other.value().get(), now.size) &&
         HaveSameAttributes(one.value().get(), other.value().get());
}

namespace {

// The most files with the same digest that are compared with one file. More would differ only if
// they were made for it.
constexpr std::size_t kMostCompared = 4;

bool IsGone(const Change& change) {
  return change.kind == Change::Kind::kDeleted && S_ISREG(change.previous_mode) &&
         change.previous_size > 0;
}

bool IsNew(const Change& change) {
  return change.kind == Change::Kind::kAdded && S_ISREG(change.mode) && change.size > 0;
}

std::string_view NameOf(const Change& change) {
  return SplitPath(change.path).name;
}

std::optional<Descriptor> OpenFile(const ScannedTree& tree, const Change& change) {
  const auto directory = tree.Open(SplitPath(change.path).parent);
  if (!directory) return std::nullopt;
  auto file = directory.value().OpenFile(std::string(NameOf(change)));
  if (!file) return std::nullopt;
  return std::move(*file);
}

class Pairing {
 public:
  Pairing(const ScannedTree& upper, const ScannedTree& lower, std::vector<Change>* changes)
      : upper_(upper), lower_(lower), changes_(*changes), digests_(changes->size()) {}

  void Run() {
    const std::set<std::uint64_t> sizes = SizesOfBoth();
    if (sizes.empty()) return;
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      const Change& change = changes_[at];
      const bool is_new = IsNew(change);
      if (!is_new && !IsGone(change)) continue;
      if (sizes.count(is_new ? change.size : change.previous_size) == 0) continue;
      const auto file = OpenFile(is_new ? upper_ : lower_, change);
      if (file) digests_[at] = DigestOf(file->get());
    }
    for (const bool by_name : {true, false})
      PairUp(by_name);
    std::size_t kept = 0;
    for (Change& change : changes_) {
      const auto at = static_cast<std::size_t>(&change - changes_.data());
      if (taken_.count(at) != 0) continue;
      if (kept != at) changes_[kept] = std::move(change);
      ++kept;
    }
    changes_.resize(kept);
  }

 private:
  // The common key of both sides of a pair: size, digest, and the name or nothing.
  using Common = std::tuple<std::uint64_t, std::uint64_t, std::string_view>;

  std::set<std::uint64_t> SizesOfBoth() const {
    std::set<std::uint64_t> gone;
    std::set<std::uint64_t> both;
    for (const Change& change : changes_)
      if (IsGone(change)) gone.insert(change.previous_size);
    for (const Change& change : changes_)
      if (IsNew(change) && gone.count(change.size) != 0) both.insert(change.size);
    return both;
  }

  void PairUp(bool by_name) {
    const auto common = [&](std::size_t at, std::uint64_t size) {
      return Common(size, *digests_[at], by_name ? NameOf(changes_[at]) : std::string_view());
    };
    std::map<Common, std::deque<std::size_t>> gone;
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      const Change& change = changes_[at];
      if (!digests_[at] || !IsGone(change) || taken_.count(at) != 0) continue;
      gone[common(at, change.previous_size)].push_back(at);
    }
    for (std::size_t at = 0; at < changes_.size(); ++at) {
      if (!digests_[at] || !IsNew(changes_[at])) continue;
      const auto candidates = gone.find(common(at, changes_[at].size));
      if (candidates != gone.end()) TakeOneOf(&candidates->second, at);
    }
  }

  void TakeOneOf(std::deque<std::size_t>* candidates, std::size_t made) {
    Change& change = changes_[made];
    for (std::size_t at = 0; at < candidates->size() && at < kMostCompared; ++at) {
      const std::size_t place = (*candidates)[at];
      const Change& gone = changes_[place];
      if (!HaveSameContents(gone, change)) continue;
      change.kind = Change::Kind::kRenamed;
      change.from = gone.path;
      change.previous_size = gone.previous_size;
      change.previous_mode = gone.previous_mode;
      change.conflict |= gone.conflict;
      taken_.insert(place);
      candidates->erase(candidates->begin() + static_cast<std::ptrdiff_t>(at));
      return;
    }
  }

  bool HaveSameContents(const Change& gone, const Change& made) const {
    const auto one = OpenFile(lower_, gone);
    const auto other = OpenFile(upper_, made);
    return one && other && HaveSameBytes(one->get(), other->get(), made.size);
  }

  const ScannedTree& upper_;
  const ScannedTree& lower_;
  std::vector<Change>& changes_;
  std::vector<std::optional<std::uint64_t>> digests_;  // of files that may be paired
  std::set<std::size_t> taken_;
};

}  // namespace

void PairRenames(const ScannedTree& upper, const ScannedTree& lower, std::vector<Change>* changes) {
  Pairing(upper, lower, changes).Run();
}

namespace {

std::optional<std::uint64_t> DigestOfTarget(const ScannedDirectory& directory,
                                            const std::string& name) {
  const auto target = directory.Target(name);
  return target ? std::optional(ChecksumOf(target.value())) : std::nullopt;
}

}  // namespace

bool HidesMappedWrites(int descriptor) {
  struct statfs status {};
  if (fstatfs(descriptor, &status) != 0) return true;
  const auto type = static_cast<std::uint64_t>(status.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC;
}

bool MayBeOpenForWriting(int file) {
  // Whoever opens the file while the lease lasts has a signal sent to this process: one that is
  // ignored by default, in place of SIGIO, which ends it.
  if (fcntl(file, F_SETSIG, SIGURG) != 0) return true;
  if (fcntl(file, F_SETLEASE, F_RDLCK) != 0) return true;
  return fcntl(file, F_SETLEASE, F_UNLCK) != 0;
}

bool MayChangeUnseen(int file, const HostFile& looked) {
  return MayBeSince(looked.changed_ns, FileClock()) || HidesMappedWrites(file) ||
         MayBeOpenForWriting(file);
}

std::optional<std::uint64_t> ContentsOf(const ScannedDirectory& directory, const std::string& name,
                                        const Node& node) {
  if (node.is_link()) return DigestOfTarget(directory, name);
  if (!node.is_file()) return std::nullopt;
  const auto file = directory.OpenFile(name);
  return file ? DigestOf(file.value().get()) : std::nullopt;
}

std::optional<std::uint64_t> ContentsToNote(const ScannedDirectory& directory,
                                            const std::string& name, const Node& node) {
  if (node.is_link()) {
    const bool is_settled = !MayBeSince(node.changed_ns, FileClock());
    return is_settled ? std::nullopt : DigestOfTarget(directory, name);
  }
  if (!node.is_file()) return std::nullopt;
  const auto file = directory.OpenFile(name);
  if (!file || !MayChangeUnseen(file.value().get(), node)) return std::nullopt;
  return DigestOf(file.value().get());
}

bool HasNoted(const ScannedDirectory& directory, const std::string& name,
              const std::optional<std::uint64_t>& noted) {
  if (!noted) return true;
  const auto node = directory.Look(name);
  return node && node.value() && ContentsOf(directory, name, *node.value()) == noted;
}

}  // namespace native_runner
