#include "effects/files/workspace_files.h"

#include <cerrno>
#include <utility>

#include "effects/files/read_file.h"
#include "effects/files/remove_entry.h"
#include "effects/files/rename_entry.h"

namespace native_runner {

OpenWorkspaceRoot WorkspaceRootAt(std::string path) {
  return [path = std::move(path)]() -> FileResult<WorkspaceRoot> {
    auto directory = Beneath::Open(path);
    if (!directory) return directory.error();
    return WorkspaceRoot{std::move(*directory), nullptr};
  };
}

FileResult<WorkspaceRoot> WorkspaceFiles::Open(Use use, const char* call) const {
  if (use == Use::kRead && !rights_.may_read) return Refused(call, EACCES);
  if (use == Use::kWrite && !rights_.may_write) return Refused(call, EROFS);
  return rights_.open();
}

FileResult<Bytes> WorkspaceFiles::Read(std::string_view path, std::uint64_t most) const {
  const auto root = Open(Use::kRead, "open");
  if (!root) return root.error();
  return ReadFile(root.value().directory, path, most);
}

FileResult<FileStat> WorkspaceFiles::Write(std::string_view path,
                                           std::span<const std::uint8_t> data,
                                           const WriteRule& rule) const {
  const auto root = Open(Use::kWrite, "open");
  if (!root) return root.error();
  return WriteFile(root.value().directory, path, data, rule);
}

FileResult<std::vector<ListedEntry>> WorkspaceFiles::List(std::string_view path,
                                                          const ListRule& rule) const {
  const auto root = Open(Use::kRead, "scandir");
  if (!root) return root.error();
  return ListDirectory(root.value().directory, path, rule);
}

FileResult<Survey> WorkspaceFiles::TakeSurvey(std::uint64_t most) const {
  const auto root = Open(Use::kRead, "scandir");
  if (!root) return root.error();
  return SurveyTree(root.value().directory, most);
}

FileResult<FileStat> WorkspaceFiles::Stat(std::string_view path) const {
  const auto root = Open(Use::kLook, "stat");
  if (!root) return root.error();
  const auto entry = root.value().directory.Entry(path, "stat");
  if (!entry) return entry.error();
  return StatOf(entry.value().get(), "stat");
}

FileResult<Done> WorkspaceFiles::Make(std::string_view path, MakeRule rule) const {
  const auto root = Open(Use::kWrite, "mkdir");
  if (!root) return root.error();
  return MakeDirectory(root.value().directory, path, rule);
}

FileResult<Done> WorkspaceFiles::Rename(std::string_view from, std::string_view to) const {
  const auto root = Open(Use::kWrite, "rename");
  if (!root) return root.error();
  return RenameEntry(root.value().directory, from, to);
}

FileResult<Done> WorkspaceFiles::Remove(std::string_view path, bool recursive) const {
  const auto root = Open(Use::kWrite, "rm");
  if (!root) return root.error();
  return RemoveEntry(root.value().directory, path, recursive);
}

}  // namespace native_runner
