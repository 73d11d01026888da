#include "effects/commit/perform.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "effects/tree/beneath.h"

namespace native_runner {
namespace {

constexpr mode_t kModeBits = 07777;

// A directory that is open, and a name in it.
struct Spot {
  ScannedDirectory directory;
  std::string name;
};

Error Failed(const SitePath& place, const char* call, int number) {
  return Error{ErrorCode::kSetup, Shown(place) + ": " + call + ": " + std::strerror(number), ""};
}

NotDone Broken(Error why) {
  return {false, std::move(why)};
}

NotDone Changed(const SitePath& place) {
  return {true, Error{ErrorCode::kSetup, Shown(place) + " was changed by somebody else", ""}};
}

// Whether what is there is what was to be there. Of a directory what is in it is no matter.
bool Is(const std::optional<Node>& now, const HostFile& file, bool is_exact) {
  if (!now) return false;
  if (file.is_directory()) return now->IsSameInode(file);
  return is_exact ? static_cast<const HostFile&>(*now) == file : now->HasSameContent(file);
}

class Performance {
 public:
  Performance(const Sites& sites, const Operation& operation, Likeness likeness)
      : sites_(sites), operation_(operation), likeness_(likeness) {}

  std::optional<NotDone> Run() {
    auto from = Open(operation_.from);
    if (!from) return from.error();
    if (operation_.kind == Operation::Kind::kAttributes) return SetAttributes(from.value());
    auto to = Open(operation_.to);
    if (!to) return to.error();
    if (auto changed = CheckBefore(from.value(), to.value())) return changed;
    if (auto failed = Rename(from.value(), to.value())) return failed;
    auto changed = CheckAfter(from.value(), to.value());
    if (!changed) return std::nullopt;
    return TakeBack(from.value(), to.value(), std::move(*changed));
  }

 private:
  bool is_exchange() const { return operation_.kind == Operation::Kind::kExchange; }

  Result<Spot, NotDone> Open(const SitePath& place) const {
    const auto [parent, name] = SplitPath(place.path);
    const ScannedTree& tree = sites_.Of(place.site);
    auto opened = place.site == Site::kHost ? tree.Open(parent) : tree.OpenToChange(parent);
    if (!opened) return Broken(opened.error());
    return Spot{std::move(*opened), std::string(name)};
  }

  // nullopt: it is so.
  std::optional<NotDone> Expect(const Spot& spot, const SitePath& place, const HostFile* file,
                                bool is_exact) const {
    const auto now = spot.directory.Look(spot.name);
    if (!now) return Broken(now.error());
    const bool is_so = file == nullptr ? !now.value() : Is(now.value(), *file, is_exact);
    return is_so ? std::nullopt : std::optional(Changed(place));
  }

  std::optional<NotDone> CheckBefore(const Spot& from, const Spot& to) const {
    const bool is_exact = likeness_ == Likeness::kExact;
    const auto exact = [is_exact](const SitePath& at) {
      return is_exact && at.site == Site::kHost;
    };
    const HostFile* there = is_exchange() ? &operation_.to_file : nullptr;
    auto changed = Expect(from, operation_.from, &operation_.from_file, exact(operation_.from));
    if (!changed) changed = CheckEmpty(operation_.from);
    if (changed) return changed;
    return Expect(to, operation_.to, there, exact(operation_.to));
  }

  // A directory of the host's goes without what is in it, which is looked after by itself: what
  // else is there is somebody's.
  std::optional<NotDone> CheckEmpty(const SitePath& place) const {
    const bool matters = operation_.kind == Operation::Kind::kMove &&
                         operation_.from.site == Site::kHost && operation_.from_file.is_directory();
    if (!matters) return std::nullopt;
    const auto directory = sites_.Of(place.site).Open(place.path);
    if (!directory) return Broken(directory.error());
    const auto names = directory.value().Names();
    if (!names) return Broken(names.error());
    return names.value().empty() ? std::nullopt : std::optional(Changed(place));
  }

  std::optional<NotDone> Rename(const Spot& from, const Spot& to) const {
    const unsigned flags = is_exchange() ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    if (syscall(SYS_renameat2, from.directory.descriptor(), from.name.c_str(),
                to.directory.descriptor(), to.name.c_str(), flags) == 0) {
      return std::nullopt;
    }
    if (errno == EEXIST) return Changed(operation_.to);
    if (errno == ENOENT) return Changed(operation_.from);
    return Broken(Failed(operation_.to, "rename", errno));
  }

  // What was renamed is what was to be, and the way there still leads to where it is.
  std::optional<NotDone> CheckAfter(const Spot& from, const Spot& to) const {
    const HostFile* there = is_exchange() ? &operation_.to_file : nullptr;
    if (auto changed = Expect(to, operation_.to, &operation_.from_file, false)) return changed;
    if (auto changed = Expect(from, operation_.from, there, false)) return changed;
    if (auto changed = CheckEmpty(operation_.to)) return changed;
    if (auto changed = CheckWay(from, operation_.from)) return changed;
    return CheckWay(to, operation_.to);
  }

  std::optional<NotDone> CheckWay(const Spot& spot, const SitePath& place) const {
    if (place.site != Site::kHost) return std::nullopt;
    const auto again = sites_.host.OpenIfThere(SplitPath(place.path).parent);
    if (!again) return Broken(again.error());
    if (!again.value()) return Changed(place);
    const auto here = spot.directory.Look("");
    const auto there = again.value()->Look("");
    if (!here) return Broken(here.error());
    if (!there) return Broken(there.error());
    const bool is_same = here.value() && there.value() && here.value()->IsSameInode(*there.value());
    return is_same ? std::nullopt : std::optional(Changed(place));
  }

  int RenameBack(const Spot& from, const Spot& to) const {
    const unsigned flags = is_exchange() ? RENAME_EXCHANGE : RENAME_NOREPLACE;
    return static_cast<int>(syscall(SYS_renameat2, to.directory.descriptor(), to.name.c_str(),
                                    from.directory.descriptor(), from.name.c_str(), flags));
  }

  // In the directories that are open, wherever they are by now. What came from the host goes back
  // as it is; what somebody has put in the place of a file of ours stays there.
  NotDone TakeBack(const Spot& from, const Spot& to, NotDone why) const {
    const auto is_ours = [this](const Spot& spot) {
      const auto now = spot.directory.Look(spot.name);
      return now && Is(now.value(), operation_.from_file, false);
    };
    if (!is_exchange()) {
      if (operation_.from.site == Site::kHost || is_ours(to)) RenameBack(from, to);
    } else if (is_ours(to) && RenameBack(from, to) == 0 && !is_ours(from)) {
      RenameBack(from, to);
    }
    return why;
  }

  std::optional<NotDone> SetAttributes(const Spot& spot) const {
    const auto entry =
        OpenBeneath(spot.directory.descriptor(), spot.name, O_PATH, "open", Mounts::kStay);
    if (!entry) return WhyNotOpened(entry.error());
    const auto now = NodeOf(entry.value().get());
    if (!now) return Broken(now.error());
    const HostFile& file = operation_.from_file;
    const HostFile& wanted = operation_.to_file;
    if (!now.value().IsSameInode(file) || !now.value().HasSameAttributes(file)) {
      return Changed(operation_.from);
    }
    const std::string path = DescriptorPath(entry.value().get());
    const bool is_other_owner = wanted.uid != file.uid || wanted.gid != file.gid;
    if (is_other_owner && chown(path.c_str(), wanted.uid, wanted.gid) != 0) {
      return Broken(Failed(operation_.from, "chown", errno));
    }
    if (chmod(path.c_str(), wanted.mode & kModeBits) != 0) {
      NotDone why = Broken(Failed(operation_.from, "chmod", errno));
      // Else it would have attributes of both, which nobody takes for either.
      if (is_other_owner && chown(path.c_str(), file.uid, file.gid) == 0) {
        chmod(path.c_str(), file.mode & kModeBits);  // chown(2) takes set-user-ID bits away
      }
      return why;
    }
    return std::nullopt;
  }

  // What is not there, or is reached by a link, somebody has changed.
  NotDone WhyNotOpened(const FileError& error) const {
    if (error.kind == FileError::Kind::kSandbox) return Broken(error.sandbox);
    constexpr std::array kChanged = {ENOENT, ENOTDIR, ELOOP, EXDEV};
    const bool is_changed =
        std::find(kChanged.begin(), kChanged.end(), error.number) != kChanged.end();
    if (is_changed) return Changed(operation_.from);
    return Broken(Failed(operation_.from, "open", error.number));
  }

  const Sites& sites_;
  const Operation& operation_;
  Likeness likeness_;
};

// Whether it is this inode, whatever has become of it.
bool IsInode(const std::optional<Node>& now, const HostFile& file) {
  return now && now->IsSameInode(file);
}

Progress OfMove(const Operation& operation, const std::optional<Node>& from,
                const std::optional<Node>& to) {
  const HostFile& file = operation.from_file;
  if (IsInode(to, file)) {
    return !from && Is(to, file, false) ? Progress::kAfter : Progress::kOther;
  }
  if (IsInode(from, file)) return Progress::kBefore;
  // It is to come to `from` by an operation before this one, which was not done.
  if (operation.to.site != Site::kHost) return Progress::kBefore;
  // A directory that was made ahead and had not reached the disk: nothing is lost with it.
  const bool is_made = operation.from.site == Site::kAside && file.is_directory();
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
  return Performance(sites, operation, likeness).Run();
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

}  // namespace native_runner
