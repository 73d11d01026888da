#include "effects/commit/commit_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "effects/copy/aside_directory.h"
#include "effects/files/remove_entry.h"
#include "effects/tree/beneath.h"
#include "effects/tree/kept_file.h"

namespace native_runner {
namespace {

constexpr const char* kName = "commit";
constexpr const char* kAside = "aside";
constexpr const char* kKept = "kept";
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

Result<CommitDirectory> CommitDirectory::Make(int transaction, int host, bool is_apart) {
  if (auto error = Remove(transaction)) return *error;
  auto made = MakeIn(transaction, kName);
  if (!made) return made.error();
  if (fsync(transaction) != 0) return SystemError("fsync", errno);
  auto own = MakeIn(made->get(), is_apart ? kKept : kAside);
  if (!own) return own.error();
  if (is_apart && !CanRename(transaction, host)) {
    auto aside = MakeAsideDirectory(made->get(), host);
    if (!aside) return aside.error();
  } else if (is_apart) {
    auto aside = MakeIn(made->get(), kAside);
    if (!aside) return aside.error();
  }
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
  const std::string done = std::string(kName) + "/" + CommitDirectory::kDone;
  if (unlinkat(transaction, done.c_str(), 0) != 0 && errno != ENOENT) {
    return SystemError("unlinkat", errno);
  }
  const auto commit = OpenIn(transaction, kName);
  if (commit) {
    if (auto error = RemoveAsideDirectory(commit.value().get())) return error;
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
  auto apart = OpenAsideDirectory(directory_.get());
  if (!apart) return apart.error();
  auto aside = *apart ? Result<Descriptor>(std::move(**apart)) : OpenIn(directory_.get(), kAside);
  if (!aside) return aside.error();
  auto own_host = DuplicateOf(host);
  if (!own_host) return own_host.error();
  auto own_upper = DuplicateOf(upper);
  if (!own_upper) return own_upper.error();
  Sites sites{ScannedTree(std::move(*own_host)), ScannedTree(std::move(*own_upper), true),
              ScannedTree(std::move(*aside)), std::nullopt, false};
  const Descriptor above(openat(sites.aside.root(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid()) return SystemError("openat", errno);
  const auto parent = NodeOf(above.get());
  const auto top = NodeOf(host);
  if (!parent || !top) return parent ? top.error() : parent.error();
  sites.is_exposed = parent.value().IsSameInode(top.value());
  const auto has_kept = Holds(kKept);
  if (!has_kept) return has_kept.error();
  if (!has_kept.value()) return sites;
  auto kept = OpenIn(directory_.get(), kKept);
  if (!kept) return kept.error();
  sites.kept.emplace(std::move(*kept));
  return sites;
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

std::optional<Error> CommitDirectory::FlushAside(const Sites& sites) {
  // Whole files were made there, where there is a place kept.
  const int aside = sites.aside.root();
  if ((sites.kept ? syncfs(aside) : fsync(aside)) == 0) return std::nullopt;
  return SystemError(sites.kept ? "syncfs" : "fsync", errno);
}

}  // namespace native_runner
