#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workspace/tree/beneath.h"
#include "workspace/tree/file_stat.h"

namespace native_runner {

struct WalkRule {
  bool recursive = false;
  std::uint64_t most = 0;  // entries
  // Given: a directory below the top that can't be read is passed over, and this becomes true.
  bool* has_closed = nullptr;
};

// What is told of each entry: the directory that holds it, open; its name there and type as they
// were read (DT_UNKNOWN among them); and its path, relative to the workspace. The answer is its
// type, of which a directory is gone into; nullopt: it has gone meanwhile.
using VisitEntry = std::function<FileResult<std::optional<FileType>>(
    int directory, const NamedType& entry, const std::string& path)>;

// Tells of what a directory holds, in the order of the names' bytes, each directory's entries
// directly behind it. No link is followed. kTooMany when there are more than `most`, or their paths
// have more bytes together than as many of the usual longest (4,096) would. A directory that goes
// away meanwhile is as one that is empty. Refusals are of readdir's.
FileResult<Done> WalkTree(const Beneath& root, std::string_view relative, const WalkRule& rule,
                          const VisitEntry& visit);

struct ListedEntry {
  std::string path;  // relative to the workspace; any bytes but NUL
  FileType type = FileType::kOther;
};

using ListRule = WalkRule;

// What a directory holds, as WalkTree tells of it.
FileResult<std::vector<ListedEntry>> ListDirectory(const Beneath& root, std::string_view relative,
                                                   const ListRule& rule);

// All that a directory holds with what tells each state of an entry from its others, packed for
// JavaScript, which would take a microsecond for each object and some eight for each lstat(2).
//
// For each entry its EntryState's numbers; and in the text its path, and of a symbolic link its
// target, each with a NUL byte after it. The first is the directory itself, whose path is ".".
struct Survey {
  std::string text;
  std::vector<std::uint64_t> numbers;
};

// As WalkTree, always with what is below. EILSEQ for a path or a target that is no UTF-8, which
// could not be told. Any thread.
FileResult<Survey> SurveyTree(const Beneath& root, std::uint64_t most);

struct MakeRule {
  bool recursive = false;  // parents too, and a directory that is there is no fault
  mode_t mode = 0777;      // less umask(2)
};

// EEXIST where anything, or with `recursive` anything but a directory, has the name.
FileResult<Done> MakeDirectory(const Beneath& root, std::string_view relative, MakeRule rule);

// rename(2): what `to` names is replaced, a link is renamed itself. EBUSY for the workspace's top.
FileResult<Done> RenameEntry(const Beneath& root, std::string_view from, std::string_view to);

// Removes an entry; a link itself, never what it leads to. A directory that is not empty is
// ENOTEMPTY, or goes with all that it holds: also what its own modes keep us from, but nothing that
// is mounted there (EBUSY). EBUSY for the workspace's top too.
// `may_stop`: it ends with ECANCELED once IsStopped().
FileResult<Done> RemoveEntry(const Beneath& root, std::string_view relative, bool recursive,
                             bool may_stop = false);

}  // namespace native_runner
