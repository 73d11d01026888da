#include "workspace/transaction/transaction_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "policy/options/home.h"
#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "workspace/changes/same_file.h"
#include "workspace/files/directory_entries.h"
#include "workspace/transaction/checkpoints.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/scanned_tree.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr mode_t kOthersWrite = 0022;

Error Unusable(const std::string& path, const std::string& why) {
  return Error{ErrorCode::kSetup, "the transactions' directory " + path + " " + why,
               "name another one with the option `directory`"};
}

Error Unusable(const std::string& path, int error) {
  return Unusable(path, std::string("can't be had: ") + std::strerror(error));
}

// mkdir(2) for each component; one that is there is passed over.
int MakeMissing(const std::string& path) {
  std::string made;
  for (const std::string_view component : PathComponents(path)) {
    made.append("/").append(component);
    if (mkdir(made.c_str(), kOwnerOnly) != 0 && errno != EEXIST && errno != EROFS &&
        errno != EACCES) {
      return errno;
    }
  }
  return 0;
}

std::optional<Error> CheckPath(const std::string& path) {
  const bool has_nul = path.find('\0') != std::string::npos;
  if (path.starts_with('/') && !HasParentComponent(path) && !has_nul) return std::nullopt;
  return Error{ErrorCode::kInvalidValue,
               "Expected `directory` to be an absolute path without \"..\" or NUL bytes, got " +
                   QuotedShort(path),
               ""};
}

// ENOENT is nullopt.
Result<std::optional<Workspace>> OpenChecked(const std::string& path) {
  Descriptor directory(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) {
    if (errno == ENOENT) return std::optional<Workspace>();
    return Unusable(path, errno);
  }
  struct statx status {};
  if (statx(directory.get(), "", AT_EMPTY_PATH, STATX_UID | STATX_MODE, &status) != 0) {
    return Unusable(path, errno);
  }
  if (status.stx_uid != geteuid()) return Unusable(path, "belongs to another user");
  if ((status.stx_mode & kOthersWrite) != 0) return Unusable(path, "can be written by others");
  auto real = PathOf(directory.get());
  if (!real) return real.error();
  return std::optional(Workspace{std::move(directory), std::move(*real)});
}

// The directory that transactions lie in, made with all that is missing above it (0700). An
// absolute path. kSetup, naming `directory`, where it can't be had, is another user's, or others
// may write to it: who can plant files there could have them committed.
Result<Workspace> OpenStateDirectory(const std::string& path) {
  if (auto error = CheckPath(path)) return *error;
  if (const int error = MakeMissing(path); error != 0) return Unusable(path, error);
  auto opened = OpenChecked(path);
  if (!opened) return opened.error();
  if (!*opened) return Unusable(path, ENOENT);
  return std::move(**opened);
}

// The same of one that is there, and nothing is made; nullopt: there is none.
Result<std::optional<Workspace>> FindStateDirectory(const std::string& path) {
  if (auto error = CheckPath(path)) return *error;
  return OpenChecked(path);
}

constexpr mode_t kOwnersFile = 0600;
constexpr const char* kRecord = "record";
constexpr std::size_t kMostRecord = std::size_t{64} << 10U;  // bytes; a path has 4,096 at most
constexpr const char* kLock = "lock";
constexpr const char* kNewLock = "lock.new";
constexpr const char* kLedger = "ledger";
constexpr std::string_view kDiscarded = "discarded-";  // no transaction's name

Error LiesIn(const std::string& state, const std::string& workspace) {
  return Error{ErrorCode::kInvalidValue,
               "Expected `directory` to lie outside of the workspace " + workspace +
                   ", and not around it, got \"" + state + "\"",
               "name a directory elsewhere, on the same file system if there is one"};
}

Error NoSuch(const std::string& id) {
  return Error{ErrorCode::kInvalidValue, "there is no transaction " + QuotedShort(id) + " here",
               "`transactions()` tells which there are"};
}

// Whether the lock is ours now. Those are waited for who have it for a moment: who lists
// transactions, and what a process that has just died had begun to start.
bool TakeLock(int lock) {
  constexpr timespec kMoment = {0, 1'000'000};
  constexpr int kMost = 1000;
  for (int left = kMost; left > 0; --left) {
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) return true;
    nanosleep(&kMoment, nullptr);
  }
  return false;
}

Error CantLookLike(const char* what) {
  return Error{ErrorCode::kUnavailable,
               std::string("no overlay can be mounted here: the workspace's ") + what +
                   " can't be given to the directory of its changes",
               "see docs/transactions.md for what an overlay needs"};
}

// The overlay's root shows the attributes of the directory that changes go to: the workspace's own.
std::optional<Error> LookLike(int directory, int workspace) {
  struct statx status {};
  if (statx(workspace, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0) {
    return SystemError("statx", errno);
  }
  if ((status.stx_uid != geteuid() || status.stx_gid != getegid()) &&
      fchown(directory, status.stx_uid, status.stx_gid) != 0) {
    // EINVAL: this user namespace has no number for one of them.
    if (errno != EPERM && errno != EINVAL) return SystemError("fchown", errno);
    return CantLookLike("owner or group");
  }
  const Descriptor readable(openat(workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (readable.valid() && !CopyAttributes(readable.get(), directory) && errno != ENOTSUP) {
    return CantLookLike("extended attributes");
  }
  if (fchmod(directory, status.stx_mode & 07777U) != 0) return SystemError("fchmod", errno);
  const std::array<timespec, 2> times = {
      timespec{status.stx_atime.tv_sec, static_cast<long>(status.stx_atime.tv_nsec)},
      timespec{status.stx_mtime.tv_sec, static_cast<long>(status.stx_mtime.tv_nsec)}};
  if (futimens(directory, times.data()) != 0) return SystemError("futimens", errno);
  return std::nullopt;
}

bool HasRecord(int directory) {
  return faccessat(directory, kRecord, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

// Whether a process died while it made this one: it has a lock that nobody holds, and no record.
// `lock` holds it then. Whoever makes one holds the lock before that has its name.
bool IsUnfinished(int directory, Descriptor* lock) {
  if (HasRecord(directory)) return false;
  *lock = Descriptor(openat(directory, kLock, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  return lock->valid() && flock(lock->get(), LOCK_EX | LOCK_NB) == 0 && !HasRecord(directory);
}

// Removes the directories of transactions whose process died while it discarded or made them. What
// fails is left for the next one.
void SweepLeftovers(int state) {
  auto copy = DuplicateOf(state);
  if (!copy) return;
  const ScannedDirectory directory(std::move(*copy));
  const auto names = directory.Names();
  if (!names) return;
  for (const std::string& name : names.value()) {
    const bool was_discarded =
        name.starts_with(kDiscarded) && IsTransactionId(name.substr(kDiscarded.size()));
    if (!was_discarded && !IsTransactionId(name)) continue;
    constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const Descriptor left(openat(state, name.c_str(), kDirectory));
    Descriptor lock;
    if (!left.valid() || (!was_discarded && !IsUnfinished(left.get(), &lock))) continue;
    if (flock(left.get(), LOCK_EX | LOCK_NB) != 0) continue;
    const std::string gone = was_discarded ? name : std::string(kDiscarded) + name;
    if (!was_discarded && renameat(state, name.c_str(), state, gone.c_str()) != 0) continue;
    static_cast<void>(RemoveOwn(state, gone));
  }
}

}  // namespace

Result<TransactionDirectory> TransactionDirectory::Make(const std::string& state,
                                                        const Workspace& workspace, Kind kind) {
  return MakeOf(state, workspace, kind, "");
}

Result<TransactionDirectory> TransactionDirectory::MakeFork(const Workspace& workspace) const {
  return MakeOf(state(), workspace, is_copy() ? Kind::kCopy : Kind::kOverlay, record_.id);
}

Result<TransactionDirectory> TransactionDirectory::MakeOf(const std::string& state,
                                                          const Workspace& workspace, Kind kind,
                                                          const std::string& parent) {
  auto base = OpenStateDirectory(state);
  if (!base) return base.error();
  if (PathCovers(workspace.path, base->path) || PathCovers(base->path, workspace.path)) {
    return LiesIn(base->path, workspace.path);
  }
  auto id = NewId();
  if (!id) return id.error();
  auto identity = IdentityOf(workspace.directory.get());
  if (!identity) return identity.error();
  TransactionDirectory made;
  made.path_ = base->path + "/" + *id;
  auto readable = OpenPath(base->path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!readable) return readable.error();
  made.state_ = std::move(*readable);
  SweepLeftovers(made.state_.get());
  made.record_ = {std::move(*id), workspace.path,
                  *identity,      kind == Kind::kCopy ? kCopyBackend : kOverlayBackend,
                  NowNs(),        parent};
  auto directory = MakeOwn(made.state_.get(), made.record_.id);
  if (!directory) return directory.error();
  made.directory_ = std::move(*directory);
  made.NoteFileSystems(workspace.directory.get());
  if (auto error = made.Fill(workspace)) {
    static_cast<void>(made.Remove());
    return *error;
  }
  return made;
}

Result<TransactionDirectory> TransactionDirectory::Open(const std::string& state,
                                                        const std::string& id) {
  if (!IsTransactionId(id)) return NoSuch(id);
  auto base = OpenStateDirectory(state);
  if (!base) return base.error();
  auto readable = OpenPath(base->path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!readable) return readable.error();
  TransactionDirectory found;
  found.state_ = std::move(*readable);
  found.path_ = base->path + "/" + id;
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  found.directory_ = Descriptor(openat(found.state_.get(), id.c_str(), kDirectory));
  if (!found.directory_.valid()) {
    if (errno == ENOENT) return NoSuch(id);
    return SystemError("openat", errno);
  }
  const int at = found.directory_.get();
  found.lock_ = Descriptor(openat(at, kLock, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!found.lock_.valid()) return SystemError("openat", errno);
  if (!TakeLock(found.lock_.get())) {
    return Error{ErrorCode::kSetup,
                 "the transaction " + id + " is open already, here or in another process",
                 "close it there first"};
  }
  const auto text = ReadWholeFile(at, kRecord, kMostRecord);
  if (!text) return text.error();
  auto record = DecodeRenumbered(text.value().value_or(""), {}, DecodeRecord);
  if (!record) return record.error();
  if (record->id != id) return NoSuch(id);
  const Descriptor workspace(open(record->workspace.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  found.record_ = std::move(*record);
  found.NoteFileSystems(workspace.get());
  record = DecodeRenumbered(text.value().value_or(""), found.file_systems_, DecodeRecord);
  if (!record) return record.error();
  found.record_ = std::move(*record);
  return found;
}

std::optional<Error> TransactionDirectory::Fill(const Workspace& workspace) {
  const int at = directory_.get();
  lock_ = Descriptor(openat(at, kNewLock, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnersFile));
  if (!lock_.valid()) return SystemError("openat", errno);
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return SystemError("flock", errno);
  if (renameat(at, kNewLock, at, kLock) != 0) return SystemError("renameat", errno);
  if (is_copy()) {
    auto tree = MakeOwn(at, kCopyNames.tree);
    return tree ? std::nullopt : std::optional(tree.error());
  }
  auto work = MakeOwn(at, "work");
  if (!work) return work.error();
  auto upper = MakeOwn(at, "upper");
  if (!upper) return upper.error();
  if (auto error = LookLike(upper->get(), workspace.directory.get())) return error;
  return record_.parent.empty() ? WriteRecord() : std::nullopt;
}

// Whole, or not there; but not kept from a loss of power, which would cost as much as all the rest
// of opening: nothing of the transaction has reached the workspace then.
std::optional<Error> TransactionDirectory::WriteRecord() const {
  const std::string text = WithFileSystems(file_systems_, EncodeRecord(record_));
  return ReplaceFile(directory_.get(), kRecord, text, false);
}

void TransactionDirectory::NoteFileSystems(int workspace) {
  AddFileSystem(kWorkspaceRole, workspace, &file_systems_);
  AddFileSystem(kStateRole, directory_.get(), &file_systems_);
  if (!is_copy()) return;  // an overlay shows no other mounts
  const auto mounts = MountsBelow(record_.workspace);
  if (!mounts) return;
  for (const std::string& mount : mounts.value()) {
    const Descriptor directory(open(mount.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (directory.valid()) AddFileSystem(mount, directory.get(), &file_systems_);
  }
}

Descriptor TransactionDirectory::OpenOther(const std::string& id) const {
  if (!IsTransactionId(id)) return Descriptor();
  constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  return Descriptor(openat(state_.get(), id.c_str(), kDirectory));
}

Result<std::vector<TransactionRecord>> TransactionDirectory::Others() const {
  std::vector<TransactionRecord> others;
  auto own = DuplicateOf(state_.get());
  if (!own) return own.error();
  const auto names = ScannedDirectory(std::move(*own)).Names();
  if (!names) return names.error();
  for (const std::string& name : names.value()) {
    if (name == record_.id) continue;
    auto record = RecordOf(name);
    if (record && record->workspace == record_.workspace) others.push_back(std::move(*record));
  }
  return others;
}

std::optional<TransactionRecord> TransactionDirectory::RecordOf(const std::string& id) const {
  const Descriptor directory = OpenOther(id);
  if (!directory.valid()) return std::nullopt;
  const auto text = ReadWholeFile(directory.get(), kRecord, kMostRecord);
  if (!text || !text.value()) return std::nullopt;
  auto record = DecodeRenumbered(*text.value(), {}, DecodeRecord);
  if (!record || record->id != id) return std::nullopt;
  return std::move(*record);
}

std::optional<std::uint64_t> TransactionDirectory::OldestOfSeveral(bool without_own) const {
  const auto others = Others();
  if (!others) return 0;  // not known: as if there were others, and old ones
  std::uint64_t oldest = without_own ? UINT64_MAX : record_.created_ns;
  for (const TransactionRecord& other : others.value())
    oldest = std::min(oldest, other.created_ns);
  const std::size_t count = others.value().size() + (without_own ? 0 : 1);
  return count < 2 ? std::nullopt : std::optional(oldest);
}

std::optional<std::uint64_t> TransactionDirectory::OldestOtherCopy() const {
  const auto others = Others();
  if (!others) return 0;  // not known: as if there were some, and old ones
  std::optional<std::uint64_t> oldest;
  for (const TransactionRecord& other : others.value())
    if (other.backend == kCopyBackend) {
      oldest = std::min(oldest.value_or(UINT64_MAX), other.created_ns);
    }
  return oldest;
}

Ledger TransactionDirectory::LoadLedger() const {
  const auto text = ReadWholeFile(directory_.get(), kLedger);
  if (text && text.value()) {
    auto ledger = DecodeRenumbered(*text.value(), file_systems_, DecodeLedger);
    if (ledger) return std::move(*ledger);
  }
  Ledger ledger;
  ledger.looked_ns = record_.created_ns;
  return ledger;
}

std::optional<Error> TransactionDirectory::KeepLedger(const Ledger& ledger) const {
  const std::string text = WithFileSystems(file_systems_, EncodeLedger(ledger));
  return ReplaceFile(directory_.get(), kLedger, text, false);
}

Result<CopyManifest> TransactionDirectory::LoadManifest() const {
  const auto text = ReadWholeFile(directory_.get(), kCopyNames.list);
  if (!text) return text.error();
  return DecodeRenumbered(text.value().value_or(""), file_systems_, DecodeManifest);
}

std::optional<Error> TransactionDirectory::KeepManifest(const CopyManifest& manifest) const {
  const std::string text = WithFileSystems(file_systems_, EncodeManifest(manifest));
  return ReplaceFile(directory_.get(), kCopyNames.list, text, false);
}

Result<Descriptor> TransactionDirectory::OpenUpper() const {
  const int opened =
      openat(directory_.get(), kept_names().tree, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return SystemError("openat", errno);
  return Descriptor(opened);
}

void TransactionDirectory::Release() {
  lock_.Close();
  directory_.Close();
  state_.Close();
}

Result<bool> TransactionDirectory::Reopen() {
  if (directory_.valid()) return true;
  struct statx status {};
  constexpr int kItself = AT_SYMLINK_NOFOLLOW;
  if (statx(AT_FDCWD, path_.c_str(), kItself, STATX_TYPE, &status) != 0 && errno == ENOENT) {
    return false;
  }
  auto opened = Open(state(), record_.id);
  if (!opened) return opened.error();
  *this = std::move(*opened);
  return true;
}

std::vector<CacheOverlay> TransactionDirectory::CachesOf(std::vector<CacheOverlay> caches) const {
  for (CacheOverlay& cache : caches)
    cache.directory = path_ + "/caches/" + cache.directory;
  return caches;
}

std::optional<Error> TransactionDirectory::Remove() {
  const std::string gone = std::string(kDiscarded) + record_.id;
  // SweepLeftovers leaves a directory with this lock alone.
  static_cast<void>(flock(directory_.get(), LOCK_EX | LOCK_NB));
  if (renameat(state_.get(), record_.id.c_str(), state_.get(), gone.c_str()) != 0 &&
      errno != ENOENT) {
    return SystemError("renameat", errno);
  }
  if (auto error = RemoveOwn(state_.get(), gone)) return error;
  Release();
  return std::nullopt;
}

namespace {

constexpr int kNoLink = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// Whether a process has the transaction open; nullopt where it has no lock, and so is not whole.
// Nobody can look at a lock but by taking it: shared, so that others may look too, and for a moment
// that whoever opens it waits for (TransactionDirectory::Open).
std::optional<bool> IsHeld(int transaction) {
  const Descriptor lock(openat(transaction, kLock, kNoLink));
  if (!lock.valid()) return std::nullopt;
  return flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

// nullopt: there is none of this name, or it is not whole.
std::optional<ListedTransaction> Look(int state, const std::string& id) {
  if (!IsTransactionId(id)) return std::nullopt;
  const Descriptor directory(openat(state, id.c_str(), kNoLink | O_DIRECTORY));
  if (!directory.valid()) return std::nullopt;
  const auto text = ReadWholeFile(directory.get(), kRecord, kMostRecord);
  if (!text || !text.value()) return std::nullopt;
  auto record = DecodeRenumbered(*text.value(), {}, DecodeRecord);
  if (!record || record->id != id) return std::nullopt;
  const auto is_held = IsHeld(directory.get());
  if (!is_held) return std::nullopt;
  ListedTransaction listed;
  listed.record = std::move(*record);
  listed.recovered = ForeseeRecovery(directory.get());
  listed.has_commit = HasCommit(directory.get());
  if (*is_held) {
    // A journal that is there may be of a commit under way.
    if (listed.recovered != Recovered::kTorn) listed.recovered = Recovered::kNothing;
    listed.state = ListedTransaction::State::kOpen;
  } else if (listed.recovered == Recovered::kTorn) {
    listed.state = ListedTransaction::State::kTorn;
  }
  return listed;
}

}  // namespace

Result<std::vector<ListedTransaction>> ListTransactions(const std::string& state) {
  const auto found = FindStateDirectory(state);
  if (!found) return found.error();
  std::vector<ListedTransaction> all;
  if (!found.value()) return all;
  auto readable = OpenPath(found.value()->path.c_str(), O_RDONLY | O_DIRECTORY);
  if (!readable) return readable.error();
  const ScannedDirectory directory(std::move(*readable));
  const auto names = directory.Names();
  if (!names) return names.error();
  for (const std::string& name : names.value())
    if (auto listed = Look(directory.descriptor(), name)) all.push_back(std::move(*listed));
  std::stable_sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
    return one.record.created_ns < other.record.created_ns;
  });
  return all;
}

namespace {

constexpr std::size_t kTimeDigits = 20;

}  // namespace

std::string TextOf(const TimedName& name) {
  const std::string digits = std::to_string(name.added_ns);
  return std::string(kTimeDigits - digits.size(), '0') + digits + "-" + name.id;
}

std::optional<TimedName> TimedNameOf(const std::string& text) {
  if (text.size() <= kTimeDigits + 1 || text[kTimeDigits] != '-') return std::nullopt;
  TimedName name;
  const char* const end = text.data() + kTimeDigits;
  const auto [at, failed] = std::from_chars(text.data(), end, name.added_ns);
  if (failed != std::errc() || at != end) return std::nullopt;
  name.id = text.substr(kTimeDigits + 1);
  return name;
}

Result<Descriptor> OpenOwn(int directory, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const int opened = openat(directory, name.c_str(), kFlags);
  if (opened < 0) return SystemError("openat", errno);
  return Descriptor(opened);
}

Result<Descriptor> MakeOwn(int directory, const std::string& name) {
  if (mkdirat(directory, name.c_str(), S_IRWXU) != 0) return SystemError("mkdirat", errno);
  return OpenOwn(directory, name);
}

Result<Descriptor> OpenOrMakeOwn(int directory, const std::string& name) {
  if (mkdirat(directory, name.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return SystemError("mkdirat", errno);
  }
  return OpenOwn(directory, name);
}

Result<bool> HoldsOwn(int directory, const std::string& name) {
  if (faccessat(directory, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return SystemError("faccessat", errno);
}

std::optional<Error> RemoveOwn(int directory, const std::string& name, bool may_stop) {
  auto copy = DuplicateOf(directory);
  if (!copy) return copy.error();
  const auto removed = RemoveEntry(Beneath::Of(std::move(*copy)), name, true, may_stop);
  if (removed) return std::nullopt;
  const FileError& why = removed.error();
  if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
  if (why.number == ENOENT) return std::nullopt;
  return SystemError("rm in a transaction's directory", why.number);
}

std::optional<Error> RenameOwn(int directory, const std::string& from, const std::string& to) {
  if (renameat(directory, from.c_str(), directory, to.c_str()) == 0) return std::nullopt;
  return SystemError("renameat", errno);
}

namespace {

constexpr std::uint64_t kMostEntries = 1ULL << 40U;

// A file with several names.
struct Linked {
  std::uint64_t bytes = 0;
  std::uint32_t links = 0;  // names that it has
  std::uint32_t seen = 0;   // those in the transaction

  bool is_shared() const { return seen < links; }
};

// Adds up one transaction.
class Measurement {
 public:
  explicit Measurement(std::string id) { space_.id = std::move(id); }

  std::optional<Error> Add(Descriptor directory) {
    const auto visit = [this](int parent, const NamedType& entry, const std::string& path) {
      return Visit(parent, entry.name, path);
    };
    // To let its owner in for a moment would be in the way of whoever scans the transaction, and
    // does the same.
    bool has_closed = false;
    const WalkRule rule = {.recursive = true, .most = kMostEntries, .has_closed = &has_closed};
    const auto walked = WalkTree(Beneath::Of(std::move(directory)), "", rule, visit);
    if (has_closed) space_.is_whole = false;
    if (walked) return std::nullopt;
    const FileError& why = walked.error();
    if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
    return SystemError("readdir in a transaction's directory", why.number);
  }

  const std::map<std::uint64_t, Linked>& linked() const { return linked_; }

  TransactionSpace Space() const {
    TransactionSpace space = space_;
    for (const auto& [inode, file] : linked_)
      (file.is_shared() ? space.shared_bytes : space.bytes) += file.bytes;
    return space;
  }

 private:
  FileResult<std::optional<FileType>> Visit(int parent, const std::string& name,
                                            const std::string& path) {
    if (path == "work") return std::optional<FileType>();  // the kernel's; it holds no contents
    constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    const Descriptor entry(openat(parent, name.c_str(), kFlags));
    if (!entry.valid()) {
      if (errno == EACCES) space_.is_whole = false;  // the directory may be listed, no more
      return std::optional<FileType>();              // else it has been removed
    }
    auto node = NodeOf(entry.get());
    if (!node) return std::optional<FileType>();
    AddNode(*node, path);
    return std::optional(FileTypeOf(node->mode));
  }

  void AddNode(const Node& node, const std::string& path) {
    if (S_ISDIR(node.mode) || node.links < 2) {
      space_.bytes += node.allocated;
    } else {
      Linked& file = linked_[node.inode];
      file = {.bytes = node.allocated, .links = node.links, .seen = file.seen + 1};
      if (file.seen > 1) return;
    }
    const std::string top = path.substr(0, path.find('/'));
    if (top == kOverlayNames.tree || top == kCopyNames.tree) {
      space_.changes_bytes += node.allocated;
    } else if (top == "checkpoints") {
      space_.checkpoints_bytes += node.allocated;
    } else if (top == kTransactionHome || top == "caches") {
      space_.home_bytes += node.allocated;
    }
  }

  TransactionSpace space_;
  std::map<std::uint64_t, Linked> linked_;  // by inode
};

}  // namespace

Result<SpaceReport> MeasureTransactions(const std::string& state, const std::string& workspace) {
  auto listed = ListTransactions(state);
  if (!listed) return listed.error();
  SpaceReport report;
  if (listed->empty()) return report;
  auto directory = OpenPath(state.c_str(), O_RDONLY | O_DIRECTORY);
  if (!directory) return directory.error();
  std::set<std::uint64_t> counted;
  for (const ListedTransaction& each : *listed) {
    if (!workspace.empty() && each.record.workspace != workspace) continue;
    auto own = OpenOwn(directory->get(), each.record.id);
    if (!own) continue;  // it has been removed
    Measurement measurement(each.record.id);
    if (auto error = measurement.Add(std::move(*own))) return *error;
    report.each.push_back(measurement.Space());
    report.total_bytes += report.each.back().bytes;
    for (const auto& [inode, file] : measurement.linked()) {
      if (file.is_shared() && counted.insert(inode).second) report.total_bytes += file.bytes;
    }
  }
  return report;
}

}  // namespace native_runner
