#include "effects/files/survey_tree.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <optional>

#include "policy/text/utf8.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr const char* kCall = "scandir";
constexpr unsigned kMask =
    STATX_TYPE | STATX_MODE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME;

std::uint64_t Nanoseconds(const struct statx_timestamp& time) {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond + time.tv_nsec;
}

class Surveyor {
 public:
  FileResult<std::optional<FileType>> Visit(int directory, const char* name,
                                            const std::string& path) {
    if (!IsUtf8(path)) return Refused(kCall, EILSEQ);
    struct statx seen {};
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, kMask, &seen) != 0) {
      if (errno == ENOENT) return std::optional<FileType>();
      return Refused(kCall, errno);
    }
    const FileType type = FileTypeOf(seen.stx_mode);
    std::string target;
    if (type == FileType::kSymlink) {
      auto read = TargetOf(directory, name);
      if (!read) return read.error();
      if (!*read) return std::optional<FileType>();
      target = std::move(**read);
    }
    survey_.text += path;
    survey_.text += '\0';
    if (type == FileType::kSymlink) {
      survey_.text += target;
      survey_.text += '\0';
    }
    for (const std::uint64_t number :
         {std::uint64_t{seen.stx_mode},
          std::uint64_t{makedev(seen.stx_dev_major, seen.stx_dev_minor)},
          std::uint64_t{seen.stx_ino}, std::uint64_t{seen.stx_size}, Nanoseconds(seen.stx_mtime),
          Nanoseconds(seen.stx_ctime)}) {
      survey_.numbers.push_back(number);
    }
    return std::optional(type);
  }

  Survey Finish() { return std::move(survey_); }

 private:
  // nullopt: it is no link any more.
  static FileResult<std::optional<std::string>> TargetOf(int directory, const char* name) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = readlinkat(directory, name, target.data(), target.size());
    if (size < 0 && (errno == ENOENT || errno == EINVAL)) return std::optional<std::string>();
    if (size < 0) return Refused(kCall, errno);
    target.resize(static_cast<std::size_t>(size));
    if (!IsUtf8(target)) return Refused(kCall, EILSEQ);
    return std::optional(std::move(target));
  }

  Survey survey_;
};

}  // namespace

FileResult<Survey> SurveyTree(const Beneath& root, std::uint64_t most) {
  Surveyor surveyor;
  const auto top = surveyor.Visit(root.directory(), "", ".");
  if (!top) return top.error();
  const auto walked =
      WalkTree(root, "", {.recursive = true, .most = most},
               [&surveyor](int directory, const NamedType& entry, const std::string& path) {
                 return surveyor.Visit(directory, entry.name.c_str(), path);
               });
  if (!walked) return walked.error();
  return surveyor.Finish();
}

}  // namespace native_runner
