#include "workspace/commit/commit_directory.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "supervise/os/file.h"
#include "workspace/files/directory_entries.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {

Result<std::optional<Node>> Sites::Look(const SitePath& place) const {
  const auto [parent, name] = SplitPath(place.path);
  auto directory = Of(place.site).OpenIfThere(parent);
  if (!directory) return directory.error();
  if (!*directory) return std::optional<Node>();
  return (*directory)->Look(std::string(name));
}

Result<const ScannedDirectory*> SitesView::ParentOf(const SitePath& place) {
  auto& held = held_[static_cast<std::size_t>(place.site)];
  const std::string_view parent = SplitPath(place.path).parent;
  if (!held || held->path != parent) {
    held.reset();  // what was opened for it is shut before
    auto directory = sites_.Of(place.site).OpenIfThere(parent);
    if (!directory) return directory.error();
    held.emplace(Held{std::string(parent), std::move(*directory)});
  }
  const ScannedDirectory* found = held->directory ? &*held->directory : nullptr;
  return found;
}

Result<std::optional<Node>> SitesView::Look(const SitePath& place) {
  const auto parent = ParentOf(place);
  if (!parent) return parent.error();
  if (parent.value() == nullptr) return std::optional<Node>();
  return parent.value()->Look(std::string(SplitPath(place.path).name));
}

std::string Shown(const SitePath& place) {
  return place.path.empty() ? "." : place.path;
}

namespace {

constexpr const char* kPlace = "place";
constexpr unsigned kMountId = 0x1000;  // STATX_MNT_ID, of Linux 5.8
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Result<std::string> NewName() {
  std::array<unsigned char, 8> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return SystemError("getrandom", errno);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const unsigned char byte : bytes) {
    digits += kDigits[byte >> 4U];
    digits += kDigits[byte & 15U];
  }
  return BackupName(digits);
}

// `directory`: the one that is there, or -1.
std::optional<Error> WritePlace(int commit, const BackupPlace& place, int directory) {
  FileSystemList file_systems;
  AddFileSystem(kBackupRole, directory, &file_systems);
  const std::string text = WithFileSystems(file_systems, EncodeBackupPlace(place));
  return ReplaceFile(commit, kPlace, text, true);
}

bool IsRefusal(int number) {
  return number == EACCES || number == EPERM || number == EROFS;
}

// nullopt: nothing may be made in it.
Result<std::optional<Descriptor>> MakeBackupIn(int commit, int parent) {
  const auto name = NewName();
  if (!name) return name.error();
  const auto above = PathOf(parent);
  if (!above) return above.error();
  BackupPlace place;
  place.path = (above.value() == "/" ? "" : above.value()) + "/" + name.value();
  if (auto error = WritePlace(commit, place, -1)) return *error;
  if (mkdirat(parent, name.value().c_str(), S_IRWXU) != 0) {
    if (IsRefusal(errno)) return std::optional<Descriptor>();
    return SystemError("mkdirat", errno);
  }
  Descriptor made(openat(parent, name.value().c_str(), kDirectory));
  if (!made.valid()) return SystemError("openat", errno);
  const auto node = NodeOf(made.get());
  if (!node) return node.error();
  place.identity = {node.value().device, node.value().inode};
  if (auto error = WritePlace(commit, place, made.get())) return *error;
  if (fsync(parent) != 0) return SystemError("fsync", errno);
  return std::optional(std::move(made));
}

struct Found {
  BackupPlace place;
  Descriptor parent;  // O_PATH
  Descriptor directory;
};

// nullopt: there is none, or not the one that was made.
Result<std::optional<Found>> Find(int commit) {
  const auto text = ReadWholeFile(commit, kPlace);
  if (!text) return text.error();
  if (!text.value()) return std::optional<Found>();
  auto place = DecodeRenumbered(*text.value(), {}, DecodeBackupPlace);
  if (!place) return place.error();
  Found found;
  found.place = std::move(*place);
  const auto [above, name] = SplitPath(found.place.path);
  const std::string parent = above.empty() ? "/" : std::string(above);
  found.parent = Descriptor(open(parent.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!found.parent.valid()) return std::optional<Found>();
  found.directory = Descriptor(openat(found.parent.get(), std::string(name).c_str(), kDirectory));
  if (!found.directory.valid()) return std::optional<Found>();
  const auto node = NodeOf(found.directory.get());
  if (!node) return node.error();
  FileSystemList file_systems;
  AddFileSystem(kBackupRole, found.directory.get(), &file_systems);
  place = DecodeRenumbered(*text.value(), file_systems, DecodeBackupPlace);
  if (!place) return place.error();
  found.place.identity = place.value().identity;
  const FileIdentity now = {node.value().device, node.value().inode};
  // One that a death has kept from being named whole is empty: it is removed as such.
  const bool is_unnamed = found.place.identity == FileIdentity{};
  if (!is_unnamed && now != found.place.identity) return std::optional<Found>();
  return std::optional(std::move(found));
}

}  // namespace

bool CanRename(int one, int other) {
  struct statx first {};
  struct statx second {};
  constexpr unsigned kWanted = STATX_BASIC_STATS | kMountId;
  if (statx(one, "", AT_EMPTY_PATH, kWanted, &first) != 0 ||
      statx(other, "", AT_EMPTY_PATH, kWanted, &second) != 0) {
    return false;
  }
  const bool is_one_device =
      first.stx_dev_major == second.stx_dev_major && first.stx_dev_minor == second.stx_dev_minor;
  const bool knows_mounts = (first.stx_mask & second.stx_mask & kMountId) != 0;
  return is_one_device && (!knows_mounts || first.stx_mnt_id == second.stx_mnt_id);
}

Result<Descriptor> MakeBackupDirectory(int commit, int host) {
  const Descriptor above(openat(host, "..", kDirectory));
  if (above.valid() && CanRename(host, above.get())) {
    auto made = MakeBackupIn(commit, above.get());
    if (!made) return made.error();
    if (*made) return std::move(**made);
  }
  auto made = MakeBackupIn(commit, host);
  if (!made) return made.error();
  if (!*made) {
    return Error{ErrorCode::kSetup,
                 "no directory can be made beside the workspace or in it, which a commit from "
                 "another file system needs",
                 "open transactions with a `directory` on the workspace's file system"};
  }
  if (auto error = ReplaceFile((*made)->get(), ".gitignore", "*\n", false)) return *error;
  return std::move(**made);
}

Result<std::optional<Descriptor>> OpenBackupDirectory(int commit) {
  auto found = Find(commit);
  if (!found) return found.error();
  if (*found) return std::optional(std::move((*found)->directory));
  const auto text = ReadWholeFile(commit, kPlace);
  if (!text || !text.value()) return std::optional<Descriptor>();
  const auto place = DecodeRenumbered(*text.value(), {}, DecodeBackupPlace);
  return Error{ErrorCode::kSetup,
               (place ? place.value().path : std::string("the commit's directory")) +
                   ", where a commit keeps the host's files, is not there any more",
               "put it back where it was"};
}

std::optional<Error> RemoveBackupDirectory(int commit) {
  auto found = Find(commit);
  if (!found) return found.error();
  if (!*found) return std::nullopt;
  const std::string name(SplitPath((*found)->place.path).name);
  if ((*found)->place.identity == FileIdentity{}) {
    static_cast<void>(unlinkat((*found)->parent.get(), name.c_str(), AT_REMOVEDIR));
    return std::nullopt;
  }
  const auto removed = RemoveEntry(Beneath::Of(std::move((*found)->parent)), name, true);
  if (removed || removed.error().number == ENOENT) return std::nullopt;
  const FileError& why = removed.error();
  if (why.kind == FileError::Kind::kSandbox) return why.sandbox;
  return SystemError(("rm of " + (*found)->place.path).c_str(), why.number);
}

namespace {

constexpr const char* kName = "commit";
constexpr const char* kBackup = "aside";
constexpr const char* kKept = "kept";

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
  auto own = MakeIn(made->get(), is_apart ? kKept : kBackup);
  if (!own) return own.error();
  if (is_apart && !CanRename(transaction, host)) {
    auto backup = MakeBackupDirectory(made->get(), host);
    if (!backup) return backup.error();
  } else if (is_apart) {
    auto backup = MakeIn(made->get(), kBackup);
    if (!backup) return backup.error();
  }
  return CommitDirectory(std::move(*made), host);
}

CommitDirectory::CommitDirectory(Descriptor directory, int host)
    : directory_(std::move(directory)) {
  AddFileSystem(kWorkspaceRole, host, &file_systems_);
  AddFileSystem(kStateRole, directory_.get(), &file_systems_);
}

Result<std::optional<CommitDirectory>> CommitDirectory::Open(int transaction, int host) {
  const int opened = openat(transaction, kName, kDirectory);
  if (opened >= 0) return std::optional(CommitDirectory(Descriptor(opened), host));
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
    if (auto error = RemoveBackupDirectory(commit.value().get())) return error;
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
  auto apart = OpenBackupDirectory(directory_.get());
  if (!apart) return apart.error();
  auto backup = *apart ? Result<Descriptor>(std::move(**apart)) : OpenIn(directory_.get(), kBackup);
  if (!backup) return backup.error();
  auto own_host = DuplicateOf(host);
  if (!own_host) return own_host.error();
  auto own_upper = DuplicateOf(upper);
  if (!own_upper) return own_upper.error();
  Sites sites{ScannedTree(std::move(*own_host)), ScannedTree(std::move(*own_upper), true),
              ScannedTree(std::move(*backup)), std::nullopt, false};
  const Descriptor above(openat(sites.backup.root(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
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
  auto journal = DecodeRenumbered(*text.value(), file_systems_, DecodeJournal);
  if (!journal) return journal.error();
  return std::optional(std::move(*journal));
}

Result<bool> CommitDirectory::Holds(const char* name) const {
  if (faccessat(directory_.get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return SystemError("faccessat", errno);
}

std::optional<Error> CommitDirectory::Write(const char* name, const Journal& journal) const {
  const std::string text = WithFileSystems(file_systems_, EncodeJournal(journal));
  return ReplaceFile(directory_.get(), name, text, true);
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

std::optional<Error> CommitDirectory::FlushBackup(const Sites& sites) {
  // Whole files were made there, where there is a place kept.
  const int backup = sites.backup.root();
  if ((sites.kept ? syncfs(backup) : fsync(backup)) == 0) return std::nullopt;
  return SystemError(sites.kept ? "syncfs" : "fsync", errno);
}

}  // namespace native_runner
