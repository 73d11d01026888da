#include "effects/commit/normalize_upper.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "effects/changes/same_file.h"
#include "effects/tree/beneath.h"
#include "effects/tree/file_stat.h"

namespace native_runner {
namespace {

constexpr const char* kOpaque = "user.overlay.opaque";
constexpr const char* kOrigin = "user.overlay.origin";
constexpr std::string_view kNotes = "user.overlay.";
constexpr std::size_t kMostNames = std::size_t{64} << 10U;  // XATTR_LIST_MAX in Linux

Error Failed(const std::string& what, const char* call) {
  return Error{ErrorCode::kSetup, what + ": " + call + ": " + std::strerror(errno), ""};
}

class Normalizer {
 public:
  Normalizer(const ScannedTree& upper, const ScannedTree& lower, const Ledger* known)
      : upper_(upper), lower_(lower), known_(known) {}

  std::optional<Error> Run() {
    waiting_.push_back({"", false});
    while (!error_ && !waiting_.empty()) {
      const Place place = std::move(waiting_.back());
      waiting_.pop_back();
      Normalize(place);
    }
    return std::move(error_);
  }

 private:
  struct Place {
    std::string path;
    bool is_hiding;  // it is opaque
  };

  template <typename T>
  std::optional<T> Taken(Result<T> result) {
    if (result) return std::move(*result);
    if (!error_) error_ = std::move(result.error());
    return std::nullopt;
  }

  void Normalize(const Place& place) {
    const auto upper =
        Taken(place.is_hiding ? upper_.OpenToChange(place.path) : upper_.Open(place.path));
    if (!upper) return;
    const auto has_mark = Taken(HasAttribute(upper->descriptor(), kOpaque, "y"));
    if (!has_mark) return;
    const bool is_opaque = *has_mark;
    if (is_opaque && !place.is_hiding) {
      waiting_.push_back({place.path, true});  // to be changed
      return;
    }
    const auto entries = Taken(upper->Entries());
    if (!entries) return;
    const auto directories = DirectoriesOf(*upper, *entries);
    // One that could not be looked at must not come to show what it hides.
    if (error_) return;
    if (is_opaque && !HideByName(place.path, *upper, *entries)) return;
    // Those below must hide by themselves before this one no longer does for them.
    for (const std::string& name : directories) {
      std::string path = place.path.empty() ? name : place.path + "/" + name;
      if (is_opaque && !MakeOpaque(path)) return;
      waiting_.push_back({std::move(path), false});
    }
    if (is_opaque && fremovexattr(upper->descriptor(), kOpaque) != 0) {
      error_ = Failed(place.path, "removexattr");
    }
  }

  std::vector<std::string> DirectoriesOf(const ScannedDirectory& upper,
                                         const std::vector<NamedType>& entries) {
    std::vector<std::string> directories;
    for (const auto& [name, type] : entries) {
      bool is_directory = type == DT_DIR;
      if (type == DT_UNKNOWN) {
        const auto now = Taken(upper.Look(name));
        is_directory = now && *now && (*now)->is_directory();
      }
      if (is_directory) directories.push_back(name);
    }
    return directories;
  }

  bool HideByName(const std::string& path, const ScannedDirectory& upper,
                  const std::vector<NamedType>& shown) {
    const auto lower = Taken(lower_.OpenIfThere(path));
    if (!lower) return false;
    if (!*lower) return true;
    const auto names = Taken((*lower)->Names());
    if (!names) return false;
    for (const std::string& name : *names) {
      const auto found = std::lower_bound(
          shown.begin(), shown.end(), name,
          [](const NamedType& entry, const std::string& wanted) { return entry.name < wanted; });
      if (found != shown.end() && found->name == name) continue;
      if (!IsKnown(path.empty() ? name : path + "/" + name)) continue;
      if (mknodat(upper.descriptor(), name.c_str(), S_IFCHR, 0) != 0 && errno != EEXIST) {
        error_ = Failed(path, "mknod of a whiteout");
        return false;
      }
    }
    return true;
  }

  bool IsKnown(const std::string& path) const {
    return known_ == nullptr || known_->baselines.find(path) != known_->baselines.end();
  }

  bool MakeOpaque(const std::string& path) {
    const auto directory = Taken(upper_.OpenToChange(path));
    if (!directory) return false;
    if (fsetxattr(directory->descriptor(), kOpaque, "y", 1, 0) == 0) return true;
    error_ = Failed(path, "setxattr");
    return false;
  }

  const ScannedTree& upper_;
  const ScannedTree& lower_;
  const Ledger* known_;
  std::vector<Place> waiting_;
  std::optional<Error> error_;
};

// Those of overlayfs that a file has; empty also where the file system keeps none.
std::vector<std::string> NotesOf(const std::string& path) {
  constexpr std::size_t kOften = 512;
  std::string names(kOften, '\0');
  ssize_t size = llistxattr(path.c_str(), names.data(), names.size());
  if (size < 0 && errno == ERANGE) {
    names.resize(kMostNames);
    size = llistxattr(path.c_str(), names.data(), names.size());
  }
  std::vector<std::string> notes;
  for (const char* at = names.data(); size > 0 && at < names.data() + size;
       at += std::strlen(at) + 1) {
    if (std::string_view(at).starts_with(kNotes)) notes.emplace_back(at);
  }
  return notes;
}

// The attribute of a file that is only read is not removed: it gets another mode for that long.
std::optional<Error> StripShut(const ScannedDirectory& directory, const std::string& name,
                               const std::vector<std::string>& notes) {
  const auto file = OpenBeneath(directory.descriptor(), name, O_PATH, "open", Mounts::kStay);
  if (!file) return Error{ErrorCode::kSetup, name + " can't be opened", ""};
  const std::string path = DescriptorPath(file.value().get());
  const auto node = NodeOf(file.value().get());
  if (!node) return node.error();
  const mode_t mode = node.value().mode & kModeBits;
  const bool is_shut = (mode & S_IWUSR) == 0;
  if (is_shut && chmod(path.c_str(), mode | S_IWUSR) != 0) return Failed(name, "chmod");
  std::optional<Error> error;
  for (const std::string& note : notes)
    if (removexattr(path.c_str(), note.c_str()) != 0 && errno != ENODATA) {
      error = Failed(name, "removexattr");
    }
  if (is_shut && chmod(path.c_str(), mode) != 0) return Failed(name, "chmod");
  return error;
}

}  // namespace

std::optional<Error> NormalizeUpper(const ScannedTree& upper, const ScannedTree& lower,
                                    const Ledger* known) {
  return Normalizer(upper, lower, known).Run();
}

std::optional<Error> ForgetOrigin(const ScannedTree& upper, const std::string& path) {
  const auto there = upper.OpenIfThere(path);
  if (!there) return there.error();
  if (!there.value()) return std::nullopt;
  const auto has_origin = HasAttribute(there.value()->descriptor(), kOrigin);
  if (!has_origin) return has_origin.error();
  if (!has_origin.value()) return std::nullopt;
  const auto directory = upper.OpenToChange(path);
  if (!directory) return directory.error();
  if (fremovexattr(directory.value().descriptor(), kOrigin) == 0) return std::nullopt;
  return Failed(path, "removexattr");
}

std::optional<Error> StripNotes(const ScannedDirectory& directory, const std::string& name) {
  const std::string path = DescriptorPath(directory.descriptor()) + "/" + name;
  const auto notes = NotesOf(path);
  for (const std::string& note : notes) {
    if (lremovexattr(path.c_str(), note.c_str()) == 0) continue;
    if (errno == EACCES || errno == EPERM) return StripShut(directory, name, notes);
    return Failed(name, "removexattr");
  }
  return std::nullopt;
}

}  // namespace native_runner
