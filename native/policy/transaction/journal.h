#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/host_file.h"
#include "protocol/identity.h"

namespace native_runner {

// The trees that a commit moves files between: the workspace, the transaction's upper directory or
// copy, and the backup, which holds files that are in neither and is on the workspace's file
// system. A transaction on another file system has a backup of its own there, kUpperBackup.
enum class Site : std::uint8_t { kHost, kUpper, kBackup, kUpperBackup };
inline constexpr std::size_t kSites = 4;

struct SitePath {
  Site site = Site::kHost;
  std::string path;  // relative to the site, normalised

  friend bool operator==(const SitePath&, const SitePath&) = default;
};

// One step of a commit. The kernel does each step atomically. Plain data.
struct Operation {
  enum class Kind : std::uint8_t {
    kMove,        // moves the file at `from` to `to`, where nothing is
    kExchange,    // exchanges the files at `from` and `to`
    kAttributes,  // gives the file at `from` mode, owner and, where they differ, times of `to_file`
  };
  Kind kind = Kind::kMove;
  SitePath from;
  SitePath to;         // not of kAttributes
  HostFile from_file;  // the file at `from` before
  HostFile to_file;    // of kExchange: the file at `to` before
  // Of the host's file that it takes away, or that its inverse does once a commit is done, where
  // times don't tell a change of its contents.
  std::optional<std::uint64_t> contents = std::nullopt;
};

// Returns the operation that takes `operation` back.
Operation InverseOf(const Operation& operation);

// All operations of a commit, or of taking one back. Written to disk before the first is done.
struct Journal {
  enum class Kind : std::uint8_t { kCommit, kUndo };
  Kind kind = Kind::kCommit;
  std::vector<Operation> operations;
};

// Encode and decode the form on disk. The end is marked and a checksum follows it (not in version
// 1; contents are noted from version 3 on), so a truncated or damaged journal is invalid. Decoding
// accepts only text that encoding makes, else returns kSetup.
std::string EncodeJournal(const Journal& journal);
Result<Journal> DecodeJournal(std::string_view text);

// The directory where a commit keeps files that are in neither tree, if the transaction is on
// another file system than the workspace. It is beside the workspace or, if none can be made there,
// directly in it. Plain data.
struct BackupPlace {
  std::string path;  // absolute, and real
  // 0: it is about to be made, and an existing directory there is empty.
  FileIdentity identity;
};

// Returns the name of such a directory. `digits` are sixteen of 0-9a-f.
std::string BackupName(std::string_view digits);

// True if a path, relative to the workspace, is such a directory or lies in one. It is not part of
// the project: no transaction shows or reports it.
bool IsBackupPath(std::string_view path);

// Encode and decode the form on disk. Decoding accepts only text that encoding makes, else returns
// kSetup.
std::string EncodeBackupPlace(const BackupPlace& place);
Result<BackupPlace> DecodeBackupPlace(std::string_view text);

}  // namespace native_runner
