#include "supervise/transaction/transaction_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <utility>

#include "policy/text/path.h"
#include "supervise/os/remove_tree.h"
#include "supervise/transaction/state_directory.h"

namespace native_runner {
namespace {

constexpr mode_t kOwnerOnly = 0700;
constexpr mode_t kOwnersFile = 0600;
constexpr const char* kRecord = "record";
constexpr const char* kNewRecord = "record.new";
constexpr const char* kDiscarded = "discarded-";  // no transaction's name

Result<std::string> NewId() {
  std::array<unsigned char, 6> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return SystemError("getrandom", errno);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4U];
    id += kDigits[byte & 15U];
  }
  return id;
}

std::uint64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

Error LiesIn(const std::string& state, const std::string& workspace) {
  return Error{ErrorCode::kInvalidValue,
               "Expected `directory` to lie outside of the workspace " + workspace +
                   ", and not around it, got \"" + state + "\"",
               "name a directory elsewhere, on the same file system if there is one"};
}

Result<Descriptor> MakeDirectory(int parent, const char* name) {
  if (mkdirat(parent, name, kOwnerOnly) != 0) return SystemError("mkdirat", errno);
  const int made = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (made < 0) return SystemError("openat", errno);
  return Descriptor(made);
}

// The overlay's root shows the attributes of the directory that changes go to: the workspace's own.
std::optional<Error> LookLike(int directory, int workspace) {
  struct statx status {};
  if (statx(workspace, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &status) != 0) {
    return SystemError("statx", errno);
  }
  if ((status.stx_uid != geteuid() || status.stx_gid != getegid()) &&
      fchown(directory, status.stx_uid, status.stx_gid) != 0) {
    return SystemError("fchown", errno);
  }
  if (fchmod(directory, status.stx_mode & 07777U) != 0) return SystemError("fchmod", errno);
  const std::array<timespec, 2> times = {
      timespec{status.stx_atime.tv_sec, static_cast<long>(status.stx_atime.tv_nsec)},
      timespec{status.stx_mtime.tv_sec, static_cast<long>(status.stx_mtime.tv_nsec)}};
  if (futimens(directory, times.data()) != 0) return SystemError("futimens", errno);
  return std::nullopt;
}

}  // namespace

Result<TransactionDirectory> TransactionDirectory::Make(const std::string& state,
                                                        const Workspace& workspace) {
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
  made.record_ = {std::move(*id), workspace.path, *identity, "overlay", NowNs()};
  auto directory = MakeDirectory(made.state_.get(), made.record_.id.c_str());
  if (!directory) return directory.error();
  made.directory_ = std::move(*directory);
  if (auto error = made.Fill(workspace)) {
    static_cast<void>(made.Remove());
    return *error;
  }
  return made;
}

std::optional<Error> TransactionDirectory::Fill(const Workspace& workspace) {
  const int at = directory_.get();
  lock_ = Descriptor(openat(at, "lock", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kOwnersFile));
  if (!lock_.valid()) return SystemError("openat", errno);
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return SystemError("flock", errno);
  auto work = MakeDirectory(at, "work");
  if (!work) return work.error();
  auto upper = MakeDirectory(at, "upper");
  if (!upper) return upper.error();
  if (auto error = LookLike(upper->get(), workspace.directory.get())) return error;
  return WriteRecord();
}

// Whole, or not there; but not kept from a loss of power, which would cost as much as all the rest
// of opening: nothing of the transaction has reached the workspace then.
std::optional<Error> TransactionDirectory::WriteRecord() const {
  const int at = directory_.get();
  const std::string text = EncodeRecord(record_);
  const Descriptor file(
      openat(at, kNewRecord, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnersFile));
  if (!file.valid()) return SystemError("openat", errno);
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return SystemError("write", errno);
  }
  if (renameat(at, kNewRecord, at, kRecord) != 0) return SystemError("renameat", errno);
  return std::nullopt;
}

Result<Descriptor> TransactionDirectory::OpenUpper() const {
  const int opened =
      openat(directory_.get(), "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0) return SystemError("openat", errno);
  return Descriptor(opened);
}

std::optional<Error> TransactionDirectory::Remove() {
  const std::string gone = kDiscarded + record_.id;
  if (renameat(state_.get(), record_.id.c_str(), state_.get(), gone.c_str()) != 0 &&
      errno != ENOENT) {
    return SystemError("renameat", errno);
  }
  directory_.Close();
  auto error = RemoveTree(state_.get(), gone);
  lock_.Close();
  return error;
}

}  // namespace native_runner
