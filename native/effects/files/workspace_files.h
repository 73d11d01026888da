#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "effects/files/list_directory.h"
#include "effects/files/make_directory.h"
#include "effects/files/survey_tree.h"
#include "effects/files/write_file.h"
#include "effects/tree/beneath.h"
#include "effects/tree/file_stat.h"
#include "supervise/streams/output_buffer.h"

namespace native_runner {

// The directory that paths are relative to, for one call, and what must outlive it.
struct WorkspaceRoot {
  Beneath directory;
  std::shared_ptr<const void> hold;
};
using OpenWorkspaceRoot = std::function<FileResult<WorkspaceRoot>()>;

// The one that a path leads to, through links, as a run finds it.
OpenWorkspaceRoot WorkspaceRootAt(std::string path);

// What may be done with the files of a workspace: no more than its commands may.
struct WorkspaceRights {
  OpenWorkspaceRoot open;  // any thread
  bool may_read = true;    // content and names; else EACCES
  bool may_write = true;   // else EROFS
};

// The host's own way to the files of a workspace. Its directory is opened anew by each call, so it
// may be replaced between two calls. Paths are relative to it and normalised (WorkspaceRelative).
// Immutable: any thread, several at once; calls block.
class WorkspaceFiles {
 public:
  explicit WorkspaceFiles(WorkspaceRights rights) : rights_(std::move(rights)) {}

  FileResult<Bytes> Read(std::string_view path, std::uint64_t most) const;
  FileResult<FileStat> Write(std::string_view path, std::span<const std::uint8_t> data,
                             const WriteRule& rule) const;
  FileResult<std::vector<ListedEntry>> List(std::string_view path, const ListRule& rule) const;
  FileResult<Survey> TakeSurvey(std::uint64_t most) const;
  FileResult<FileStat> Stat(std::string_view path) const;
  FileResult<Done> Make(std::string_view path, MakeRule rule) const;
  FileResult<Done> Rename(std::string_view from, std::string_view to) const;
  FileResult<Done> Remove(std::string_view path, bool recursive) const;

 private:
  enum class Use { kLook, kRead, kWrite };
  FileResult<WorkspaceRoot> Open(Use use, const char* call) const;

  WorkspaceRights rights_;
};

}  // namespace native_runner
