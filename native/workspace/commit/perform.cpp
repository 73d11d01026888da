#include "workspace/commit/perform.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>

#include "supervise/os/descriptor.h"
#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"

namespace native_runner {
namespace {

Error Failed(const SitePath& place, const char* call, int number) {
  return Error{ErrorCode::kSetup, Shown(place) + ": " + call + ": " + std::strerror(number), ""};
}

NotDone Broken(Error why) {
  return {false, std::move(why)};
}

NotDone Changed(const SitePath& place) {
  return {true, Error{ErrorCode::kSetup, Shown(place) + " was changed by somebody else", ""}};
}

// True if `now` is the expected file. The entries of a directory do not count.
bool Is(const std::optional<Node>& now, const HostFile& file, bool is_exact) {
  if (!now) return false;
  if (file.is_directory()) return now->IsSameInode(file);
  return is_exact ? static_cast<const HostFile&>(*now) == file : now->HasSameContent(file);
}

// True if the operation moves a file between the transaction's own trees. Commands may have written
// to it there, by another name of it, which is no conflict.
bool IsInside(const Operation& operation) {
  return operation.kind == Operation::Kind::kMove && operation.from.site != Site::kHost &&
         operation.to.site != Site::kHost;
}

// A path that is missing, or leads through a link, was changed by another process.
NotDone WhyNotOpened(const SitePath& place, const FileError& error) {
  if (error.kind == FileError::Kind::kSandbox) return Broken(error.sandbox);
  constexpr std::array kChanged = {ENOENT, ENOTDIR, ELOOP, EXDEV};
  const bool is_changed =
      std::find(kChanged.begin(), kChanged.end(), error.number) != kChanged.end();
  return is_changed ? Changed(place) : Broken(Failed(place, "open", error.number));
}

std::string NameOf(const SitePath& place) {
  return std::string(SplitPath(place.path).name);
}

// Returns the place of the operation that is on the host; nullptr if neither is.
const SitePath* HostPlaceOf(const Operation& operation) {
  if (operation.from.site == Site::kHost) return &operation.from;
  const bool has_to = operation.kind != Operation::Kind::kAttributes;
  return has_to && operation.to.site == Site::kHost ? &operation.to : nullptr;
}

// True if it is the same inode, with any contents.
bool IsInode(const std::optional<Node>& now, const HostFile& file) {
  return now && now->IsSameInode(file);
}

Progress OfMove(const Operation& operation, const std::optional<Node>& from,
                const std::optional<Node>& to) {
  const HostFile& file = operation.from_file;
  if (IsInode(to, file)) {
    const bool is_same = IsInside(operation) || Is(to, file, false);
    return !from && is_same ? Progress::kAfter : Progress::kOther;
  }
  if (IsInode(from, file)) return Progress::kBefore;
  // An earlier operation, which was not done, would have moved the file to `from`.
  if (operation.to.site != Site::kHost) return Progress::kBefore;
  // A directory that was prepared and had not reached the disk: nothing is lost with it.
  const bool is_made = operation.from.site == Site::kBackup && file.is_directory();
  return is_made && !from && !to ? Progress::kBefore : Progress::kOther;
}

Progress OfExchange(const Operation& operation, const std::optional<Node>& from,
                    const std::optional<Node>& to) {
  const bool has_other = IsInode(from, operation.to_file);
  if (IsInode(to, operation.from_file)) {
    return has_other && Is(to, operation.from_file, false) ? Progress::kAfter : Progress::kOther;
  }
  return has_other ? Progress::kOther : Progress::kBefore;
}

}  // namespace

std::optional<NotDone> Perform(const Sites& sites, const Operation& operation, Likeness likeness) {
  Performer performer(sites);
  if (auto not_done = performer.Do(operation, likeness)) return not_done;
  return performer.Settle();
}

std::optional<NotDone> Performer::Do(const Operation& operation, Likeness likeness) {
  const SitePath* host = HostPlaceOf(operation);
  const auto& held = held_[static_cast<std::size_t>(Site::kHost)];
  const bool is_elsewhere = host != nullptr && held && held->path != SplitPath(host->path).parent;
  const bool is_attributes = operation.kind == Operation::Kind::kAttributes;
  if (is_elsewhere || is_attributes) {
    if (auto not_done = Settle()) return not_done;
  }
  if (is_attributes) return SetAttributes(operation);
  if (auto changed = CheckBefore(operation, likeness)) return changed;
  if (auto failed = Rename(operation)) return failed;
  if (auto changed = CheckAfter(operation)) {
    TakeBack(operation);
    return changed;
  }
  if (host != nullptr) unsettled_.push_back(operation);
  return std::nullopt;
}

std::optional<NotDone> Performer::Settle() {
  auto& held = held_[static_cast<std::size_t>(Site::kHost)];
  std::optional<NotDone> not_done;
  if (held && !unsettled_.empty()) not_done = CheckWay(*held);
  if (not_done) {
    for (auto operation = unsettled_.rbegin(); operation != unsettled_.rend(); ++operation)
      TakeBack(*operation);
  }
  unsettled_.clear();
  held.reset();
  return not_done;
}

Result<const ScannedDirectory*, NotDone> Performer::ParentOf(const SitePath& place) {
  auto& held = held_[static_cast<std::size_t>(place.site)];
  const std::string_view parent = SplitPath(place.path).parent;
  if (!held || held->path != parent) {
    const ScannedTree& tree = sites_.Of(place.site);
    held.reset();  // restores the modes of its directories first
    auto opened = place.site == Site::kHost ? tree.Open(parent) : tree.OpenToChange(parent);
    if (!opened) return Broken(opened.error());
    held.emplace(Held{std::string(parent), std::move(*opened)});
  }
  return static_cast<const ScannedDirectory*>(&held->directory);
}

// nullopt: the file is there.
std::optional<NotDone> Performer::Expect(const SitePath& place, const HostFile& file,
                                         bool is_exact) {
  const auto parent = ParentOf(place);
  if (!parent) return parent.error();
  const auto now = parent.value()->Look(NameOf(place));
  if (!now) return Broken(now.error());
  return Is(now.value(), file, is_exact) ? std::nullopt : std::optional(Changed(place));
}

// A directory of the host's must be empty before it is moved: its entries have operations of their
// own, and any other entry was made by another process.
std::optional<NotDone> Performer::CheckEmpty(const SitePath& place) const {
  const auto directory = sites_.Of(place.site).Open(place.path);
  if (!directory) return Broken(directory.error());
  const auto names = directory.value().Names();
  if (!names) return Broken(names.error());
  return names.value().empty() ? std::nullopt : std::optional(Changed(place));
}

// True if other processes may have changed the file.
bool Performer::IsExposed(const SitePath& place) const {
  return place.site == Site::kHost || (place.site == Site::kBackup && sites_.is_exposed);
}

// Only we use the other trees, and a rename that replaces nothing checks its target itself.
std::optional<NotDone> Performer::CheckBefore(const Operation& operation, Likeness likeness) {
  const bool is_exact = likeness == Likeness::kExact;
  const bool is_host = operation.from.site == Site::kHost;
  if (!IsInside(operation) && (IsExposed(operation.from) || !is_exact)) {
    auto changed = Expect(operation.from, operation.from_file, is_exact && is_host);
    if (changed) return changed;
  }
  if (operation.kind == Operation::Kind::kExchange) {
    return Expect(operation.to, operation.to_file, is_exact && operation.to.site == Site::kHost);
  }
  return is_host && operation.from_file.is_directory() ? CheckEmpty(operation.from) : std::nullopt;
}

// Checks that the moved file is the expected one, if it came from a place that others can change.
std::optional<NotDone> Performer::CheckAfter(const Operation& operation) {
  const bool may_be_other = operation.from.site != Site::kHost && IsExposed(operation.from);
  if (may_be_other) {
    if (auto changed = Expect(operation.to, operation.from_file, false)) return changed;
  }
  if (operation.kind == Operation::Kind::kExchange) {
    return Expect(operation.from, operation.to_file, false);
  }
  if (operation.from.site != Site::kHost) return std::nullopt;
  if (auto changed = Expect(operation.to, operation.from_file, false)) return changed;
  return operation.from_file.is_directory() ? CheckEmpty(operation.to) : std::nullopt;
}

std::optional<NotDone> Performer::Rename(const Operation& operation) {
  const auto from = ParentOf(operation.from);
  if (!from) return from.error();
  const auto to = ParentOf(operation.to);
  if (!to) return to.error();
  const bool is_exchange = operation.kind == Operation::Kind::kExchange;
  const unsigned flags = is_exchange ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (syscall(SYS_renameat2, from.value()->descriptor(), NameOf(operation.from).c_str(),
              to.value()->descriptor(), NameOf(operation.to).c_str(), flags) == 0) {
    return std::nullopt;
  }
  if (errno == EEXIST) return Changed(operation.to);
  if (errno == ENOENT) return Changed(operation.from);
  return Broken(Failed(operation.to, "rename", errno));
}

std::optional<NotDone> Performer::CheckWay(const Held& held) const {
  const SitePath place = {Site::kHost, held.path};
  const auto again = sites_.host.OpenIfThere(held.path);
  if (!again) return Broken(again.error());
  if (!again.value()) return Changed(place);
  const auto here = held.directory.Look("");
  const auto there = again.value()->Look("");
  if (!here) return Broken(here.error());
  if (!there) return Broken(there.error());
  const bool is_same = here.value() && there.value() && here.value()->IsSameInode(*there.value());
  return is_same ? std::nullopt : std::optional(Changed(place));
}

bool Performer::IsOurs(const Operation& operation, const SitePath& place) {
  return !Expect(place, operation.from_file, false);
}

bool Performer::RenameBack(const Operation& operation) {
  Operation back = operation;
  std::swap(back.from, back.to);
  return !Rename(back);
}

// Takes back in the open directories, wherever they are by now. A file of the host's goes back as
// it is; a file that another process has put in the place of ours stays there.
void Performer::TakeBack(const Operation& operation) {
  if (operation.kind != Operation::Kind::kExchange) {
    if (operation.from.site == Site::kHost || IsOurs(operation, operation.to)) {
      RenameBack(operation);
    }
  } else if (IsOurs(operation, operation.to) && RenameBack(operation) &&
             !IsOurs(operation, operation.from)) {
    RenameBack(operation);
  }
}

std::optional<NotDone> Performer::SetAttributes(const Operation& operation) {
  const auto parent = ParentOf(operation.from);
  if (!parent) return parent.error();
  const auto entry = OpenBeneath(parent.value()->descriptor(), NameOf(operation.from), O_PATH,
                                 "open", Mounts::kStay);
  if (!entry) return WhyNotOpened(operation.from, entry.error());
  const auto now = NodeOf(entry.value().get());
  if (!now) return Broken(now.error());
  const HostFile& file = operation.from_file;
  const HostFile& wanted = operation.to_file;
  if (!now.value().IsSameInode(file) || !now.value().HasSameAttributes(file)) {
    return Changed(operation.from);
  }
  const std::string path = DescriptorPath(entry.value().get());
  const bool is_other_owner = wanted.uid != file.uid || wanted.gid != file.gid;
  if (is_other_owner && chown(path.c_str(), wanted.uid, wanted.gid) != 0) {
    return Broken(Failed(operation.from, "chown", errno));
  }
  if (chmod(path.c_str(), wanted.mode & kModeBits) != 0) {
    NotDone why = Broken(Failed(operation.from, "chmod", errno));
    // With attributes of both, it would be recognised as neither.
    if (is_other_owner && chown(path.c_str(), file.uid, file.gid) == 0) {
      chmod(path.c_str(), file.mode & kModeBits);  // chown(2) takes set-user-ID bits away
    }
    return why;
  }
  if (wanted.modified_ns != file.modified_ns) {
    const timespec time = TimeOf(wanted.modified_ns);
    const std::array<timespec, 2> times = {time, time};
    if (utimensat(AT_FDCWD, path.c_str(), times.data(), 0) != 0) {
      return Broken(Failed(operation.from, "utimensat", errno));
    }
  }
  return std::nullopt;
}

Result<Progress> ProgressOf(const Sites& sites, const Operation& operation) {
  const auto from = sites.Look(operation.from);
  if (!from) return from.error();
  if (operation.kind == Operation::Kind::kAttributes) {
    const bool is_done = IsInode(from.value(), operation.from_file) &&
                         from.value()->HasSameAttributes(operation.to_file);
    return is_done ? Progress::kAfter : Progress::kBefore;
  }
  const auto to = sites.Look(operation.to);
  if (!to) return to.error();
  return operation.kind == Operation::Kind::kMove ? OfMove(operation, from.value(), to.value())
                                                  : OfExchange(operation, from.value(), to.value());
}

namespace {

// From the last to the first, without those that were not done. A second call does the rest.
Result<RollBack> TakeBackAll(const Sites& sites, const std::vector<Operation>& operations) {
  RollBack roll_back;
  for (auto operation = operations.rbegin(); operation != operations.rend(); ++operation) {
    const auto progress = ProgressOf(sites, *operation);
    if (!progress) return progress.error();
    if (progress.value() == Progress::kBefore) continue;
    auto not_done = progress.value() == Progress::kOther
                        ? std::optional(NotDone{true, {}})
                        : Perform(sites, InverseOf(*operation), Likeness::kContent);
    if (!not_done) {
      roll_back.taken_back.push_back(*operation);
    } else if (not_done->is_conflict) {
      const bool is_from = operation->from.site == Site::kHost;
      roll_back.torn.push_back(Shown(is_from ? operation->from : operation->to));
    } else {
      return not_done->why;
    }
  }
  return roll_back;
}

}  // namespace

std::optional<Error> SyncSites(const Sites& sites) {
  const bool is_synced =
      syncfs(sites.host.root()) == 0 && (!sites.kept || syncfs(sites.kept->root()) == 0);
  return is_synced ? std::nullopt : std::optional(SystemError("syncfs", errno));
}

Result<RollBack> TakeBack(const Sites& sites, const Journal& plan) {
  auto roll_back = TakeBackAll(sites, plan.operations);
  if (!roll_back) return roll_back;
  if (auto error = SyncSites(sites)) return *error;
  return roll_back;
}

Result<Journal> KeepBegun(const CommitDirectory& directory, const Sites& sites, Journal plan) {
  auto earlier = directory.Read(CommitDirectory::kBegun);
  if (earlier && *earlier) return std::move(**earlier);
  std::size_t begun = plan.operations.size();
  for (; begun > 0; --begun) {
    const auto progress = ProgressOf(sites, plan.operations[begun - 1]);
    if (!progress) return progress.error();
    if (progress.value() != Progress::kBefore) break;
  }
  plan.operations.resize(begun);
  // On a full disk the plan remains, which is enough.
  if (begun > 0) static_cast<void>(directory.Write(CommitDirectory::kBegun, plan));
  return plan;
}

void FollowDone(const CommitDirectory& directory, const Sites& sites, const Journal& undo) {
  auto done = directory.Read(CommitDirectory::kDone);
  if (!done || !*done) return;
  std::vector<Operation>& operations = (*done)->operations;
  SitesView view(sites);
  std::set<std::pair<std::uint64_t, std::uint64_t>> followed;  // devices and inodes
  const auto follow = [&](const SitePath& place, HostFile* file) {
    const auto now = view.Look(place);
    if (!now || !now.value() || !now.value()->HasSameContent(*file)) return;
    *file = *now.value();
    followed.emplace(file->device, file->inode);
  };
  // What the undo was to move, by the place that the commit has put it.
  std::set<std::pair<Site, std::string>> moved;
  for (const Operation& operation : undo.operations)
    if (operation.kind != Operation::Kind::kAttributes) {
      const bool is_move = operation.kind == Operation::Kind::kMove;
      const SitePath& place = is_move ? operation.from : operation.to;
      moved.emplace(place.site, place.path);
    }
  const auto was_moved = [&moved](const Operation& operation) {
    return operation.kind != Operation::Kind::kAttributes &&
           moved.contains({operation.to.site, operation.to.path});
  };
  for (Operation& operation : operations) {
    if (!was_moved(operation)) continue;
    follow(operation.to, &operation.from_file);
    if (operation.kind == Operation::Kind::kExchange) follow(operation.from, &operation.to_file);
  }
  // Other names of the same files: their ctime has changed, too.
  for (Operation& operation : operations) {
    const bool is_followed =
        operation.kind != Operation::Kind::kAttributes && !was_moved(operation) &&
        followed.contains({operation.from_file.device, operation.from_file.inode});
    if (is_followed) follow(operation.to, &operation.from_file);
  }
  static_cast<void>(directory.Write(CommitDirectory::kDone, **done));
}

std::optional<Error> Conclude(const CommitDirectory& directory, const RollBack& roll_back) {
  if (auto error = directory.Drop(CommitDirectory::kBegun)) return error;
  return roll_back.torn.empty() ? directory.Drop(CommitDirectory::kPlan)
                                : directory.Rename(CommitDirectory::kPlan, CommitDirectory::kTorn);
}

}  // namespace native_runner
