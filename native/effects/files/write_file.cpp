#include "effects/files/write_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "effects/files/replace_unchanged.h"
#include "effects/tree/staged_file.h"

namespace native_runner {
namespace {

constexpr mode_t kPermissions = 0777;  // the set-id bits are not for content that is new

// Taking a file's place needs only its directory, but whom its mode keeps from writing is kept.
std::optional<FileError> RefuseUnwritable(int directory, const std::string& name) {
  if (faccessat(directory, name.c_str(), W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 ||
      errno == ENOENT) {
    return std::nullopt;
  }
  return Refused("open", errno);
}

std::optional<FileError> Check(const ExistingFile& existing, const Place& place,
                               const WriteRule& rule) {
  if (!existing) {
    return rule.condition == WriteRule::If::kUnchanged ? std::optional(HasChanged()) : std::nullopt;
  }
  if (rule.condition == WriteRule::If::kAbsent) return Refused("open", EEXIST);
  if (auto refused = RefuseNoFile(existing->type, "open")) return refused;
  if (rule.condition == WriteRule::If::kUnchanged && existing->version != rule.version) {
    return HasChanged();
  }
  return RefuseUnwritable(place.directory.get(), place.name);
}

std::optional<FileError> WriteAll(int fd, std::span<const std::uint8_t> data) {
  while (!data.empty()) {
    const ssize_t count = write(fd, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Refused("write", errno);
    data = data.subspan(static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

// What the file is besides its content. An owner that can't be kept is no fault: in a directory
// that is ours, so is the file.
std::optional<FileError> Furnish(int fd, const ExistingFile& existing, const WriteRule& rule) {
  if (existing) {
    const auto made = StatOf(fd, "write");
    if (!made) return made.error();
    const bool is_same =
        made.value().owner == existing->owner && made.value().group == existing->group;
    if (!is_same && fchown(fd, existing->owner, existing->group) != 0 && errno != EPERM &&
        errno != EINVAL) {
      return Refused("chown", errno);
    }
  }
  if (!existing && !rule.mode) return std::nullopt;
  const mode_t mode = rule.mode.value_or(existing ? existing->mode & kPermissions : 0);
  if (fchmod(fd, mode) != 0) return Refused("chmod", errno);
  return std::nullopt;
}

FileResult<Done> Publish(StagedFile& staged, const Place& place, const ExistingFile& existing,
                         const WriteRule& rule) {
  switch (rule.condition) {
    case WriteRule::If::kAbsent:
      return staged.LinkAs(place.name);
    case WriteRule::If::kUnchanged:
      return ReplaceUnchanged(staged, place.directory.get(), place.name, rule.version);
    case WriteRule::If::kAny:
      break;
  }
  if (!existing) {
    auto linked = staged.LinkAs(place.name);
    const bool is_taken = !linked && linked.error().kind == FileError::Kind::kSystem &&
                          linked.error().number == EEXIST;
    if (!is_taken) return linked;
  }
  return staged.Replace(place.name);
}

std::optional<FileError> FlushDirectory(int directory) {
  const auto opened = OpenBeneath(directory, "", O_RDONLY | O_DIRECTORY, "fsync");
  if (!opened) return opened.error();
  if (fsync(opened.value().get()) != 0) return Refused("fsync", errno);
  return std::nullopt;
}

}  // namespace

FileResult<FileStat> WriteFile(const Beneath& root, std::string_view relative,
                               std::span<const std::uint8_t> data, const WriteRule& rule) {
  constexpr mode_t kOwnOnly = S_IRUSR | S_IWUSR;
  constexpr mode_t kUsual = 0666;
  if (relative.empty()) return Refused("open", EISDIR);
  const auto place = root.PlaceOf(relative, "open");
  if (!place) return place.error();
  const int directory = place.value().directory.get();
  const auto looked = LookAt(directory, place.value().name, "open");
  if (!looked) return looked.error();
  const ExistingFile& existing = looked.value();
  if (auto refused = Check(existing, place.value(), rule)) return std::move(*refused);

  auto staged = StagedFile::Make(directory, existing || rule.mode ? kOwnOnly : kUsual);
  if (!staged) return staged.error();
  if (auto failed = WriteAll(staged->get(), data)) return std::move(*failed);
  if (auto failed = Furnish(staged->get(), existing, rule)) return std::move(*failed);
  if (rule.flush && fsync(staged->get()) != 0) return Refused("fsync", errno);
  const auto published = Publish(*staged, place.value(), existing, rule);
  if (!published) return published.error();
  if (rule.flush) {
    if (auto failed = FlushDirectory(directory)) return std::move(*failed);
  }
  return StatOf(staged->get(), "stat");
}

}  // namespace native_runner
