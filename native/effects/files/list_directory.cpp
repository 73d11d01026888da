#include "effects/files/list_directory.h"

#include <dirent.h>
#include <fcntl.h>

#include <optional>
#include <utility>

#include "supervise/os/statx.h"

namespace native_runner {
namespace {

// nullopt: it has gone.
std::optional<FileType> TypeOf(int directory, const NamedType& entry) {
  switch (entry.type) {
    case DT_REG:
      return FileType::kFile;
    case DT_DIR:
      return FileType::kDirectory;
    case DT_LNK:
      return FileType::kSymlink;
    case DT_UNKNOWN:
      break;
    default:
      return FileType::kOther;
  }
  struct statx seen {};
  if (statx(directory, entry.name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &seen) != 0) {
    return std::nullopt;
  }
  return FileTypeOf(seen.stx_mode);
}

}  // namespace

FileResult<std::vector<ListedEntry>> ListDirectory(const Beneath& root, std::string_view relative,
                                                   const ListRule& rule) {
  std::vector<ListedEntry> entries;
  const auto walked =
      WalkTree(root, relative, rule,
               [&entries](int directory, const NamedType& entry,
                          const std::string& path) -> FileResult<std::optional<FileType>> {
                 const auto type = TypeOf(directory, entry);
                 if (type) entries.push_back({path, *type});
                 return type;
               });
  if (!walked) return walked.error();
  return entries;
}

}  // namespace native_runner
