#include "effects/commit/commit_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "effects/files/remove_entry.h"
#include "effects/tree/beneath.h"
#include "effects/tree/kept_file.h"

namespace native_runner {
namespace {

constexpr const char* kName = "commit";
constexpr const char* kDone = "done";
constexpr const char* kAside = "aside";
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<Descriptor> OpenIn(int directory, const char* name) {
  const int opened = openat(directory, name, kDirectory);
  if (opened < 0) return SystemError("openat", errno);
  return Descriptor(opened);
}

Result<Descriptor> MakeIn(int directory, const char* name) {
  if (mkdirat(directory, name, S_IRWXU) != 0) return SystemError("mkdirat", errno);
  return OpenIn(directory, name);
}

}  // namespace

Result<CommitDirectory> CommitDirectory::Make(int transaction) {
  if (auto error = Remove(transaction)) return *error;
  auto made = MakeIn(transaction, kName);
  if (!made) return made.error();
  auto aside = MakeIn(made->get(), kAside);
  if (!aside) return aside.error();
  if (fsync(transaction) != 0) return SystemError("fsync", errno);
  return CommitDirectory(std::move(*made));
}

Result<std::optional<CommitDirectory>> CommitDirectory::Open(int transaction) {
  const int opened = openat(transaction, kName, kDirectory);
  if (opened >= 0) return std::optional(CommitDirectory(Descriptor(opened)));
  if (errno == ENOENT) return std::optional<CommitDirectory>();
  return SystemError("openat", errno);
}

// What can be taken back goes first: half of what it needs is nothing.
std::optional<Error> CommitDirectory::Remove(int transaction) {
  const std::string done = std::string(kName) + "/" + kDone;
  if (unlinkat(transaction, done.c_str(), 0) != 0 && errno != ENOENT) {
    return SystemError("unlinkat", errno);
  }
  auto copy = DuplicateOf(transaction);
  if (!copy) return copy.error();
  const auto removed = RemoveEntry(Beneath::Of(std::move(*copy)), kName, true);
  if (removed) return std::nullopt;
  const FileError& why = removed.error();
  if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
  if (why.number == ENOENT) return std::nullopt;
  return SystemError("rm of an earlier commit", why.number);
}

Result<Sites> CommitDirectory::OpenSites(int host, int upper) const {
  auto aside = OpenIn(directory_.get(), kAside);
  if (!aside) return aside.error();
  auto own_host = DuplicateOf(host);
  if (!own_host) return own_host.error();
  auto own_upper = DuplicateOf(upper);
  if (!own_upper) return own_upper.error();
  return Sites{ScannedTree(std::move(*own_host)), ScannedTree(std::move(*own_upper), true),
               ScannedTree(std::move(*aside))};
}

Result<std::optional<Journal>> CommitDirectory::Read(const char* name) const {
  const auto text = ReadWholeFile(directory_.get(), name);
  if (!text) return text.error();
  if (!text.value()) return std::optional<Journal>();
  auto journal = DecodeJournal(*text.value());
  if (!journal) return journal.error();
  return std::optional(std::move(*journal));
}

Result<bool> CommitDirectory::Holds(const char* name) const {
  if (faccessat(directory_.get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return SystemError("faccessat", errno);
}

std::optional<Error> CommitDirectory::Write(const char* name, const Journal& journal) const {
  return ReplaceFile(directory_.get(), name, EncodeJournal(journal), true);
}

std::optional<Error> CommitDirectory::Rename(const char* name, const char* to) const {
  if (renameat(directory_.get(), name, directory_.get(), to) != 0) {
    return SystemError("renameat", errno);
  }
  if (fsync(directory_.get()) != 0) return SystemError("fsync", errno);
  return std::nullopt;
}

std::optional<Error> CommitDirectory::Drop(const char* name) const {
  if (unlinkat(directory_.get(), name, 0) != 0 && errno != ENOENT) {
    return SystemError("unlinkat", errno);
  }
  if (fsync(directory_.get()) != 0) return SystemError("fsync", errno);
  return std::nullopt;
}

std::optional<Error> CommitDirectory::FlushAside() const {
  const auto aside = OpenIn(directory_.get(), kAside);
  if (!aside) return aside.error();
  if (fsync(aside.value().get()) != 0) return SystemError("fsync", errno);
  return std::nullopt;
}

}  // namespace native_runner
