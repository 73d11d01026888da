#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/host_file.h"
#include "protocol/identity.h"

namespace native_runner {

// The trees that a commit moves files between: the workspace, what the transaction has of it, and
// the place for what is in neither, which is on the workspace's file system. Where the transaction
// is on another one, it has such a place of its own, kUpperBackup.
enum class Site : std::uint8_t { kHost, kUpper, kBackup, kUpperBackup };
inline constexpr std::size_t kSites = 4;

struct SitePath {
  Site site = Site::kHost;
  std::string path;  // relative to it, normalised

  friend bool operator==(const SitePath&, const SitePath&) = default;
};

// One step of a commit, each of which the kernel does as a whole. Plain data.
struct Operation {
  enum class Kind : std::uint8_t {
    kMove,        // what is at `from` goes to `to`, where nothing is
    kExchange,    // what is at `from` and what is at `to` change places
    kAttributes,  // what is at `from` gets mode and owner of `to_file`
  };
  Kind kind = Kind::kMove;
  SitePath from;
  SitePath to;         // not of kAttributes
  HostFile from_file;  // what is at `from` before
  HostFile to_file;    // of kExchange: what is at `to` before
};

// What takes an operation back.
Operation InverseOf(const Operation& operation);

// All that a commit, or taking one back, is going to do: on disk before the first of it is done.
struct Journal {
  enum class Kind : std::uint8_t { kCommit, kUndo };
  Kind kind = Kind::kCommit;
  std::vector<Operation> operations;
};

// As it is kept on disk; the end is marked, so that a part of one is none. Decoding takes nothing
// but what encoding gives: kSetup.
std::string EncodeJournal(const Journal& journal);
Result<Journal> DecodeJournal(std::string_view text);

// Where a commit keeps what is in neither tree, when the transaction lies on another file system
// than the workspace: a directory beside the workspace or, where none can be made there, directly
// in it. Plain data.
struct BackupPlace {
  std::string path;  // absolute, and real
  // 0: it is about to be made, and whatever there is of it is empty.
  FileIdentity identity;
};

// The name of such a directory: "digits" are sixteen of 0-9a-f.
std::string BackupName(std::string_view digits);

// Whether a path, relative to the workspace, is such a directory, or in one. It is no part of the
// project: no transaction shows it, or tells of it.
bool IsBackupPath(std::string_view path);

// As it is kept on disk. Decoding takes nothing but what encoding gives: kSetup.
std::string EncodeBackupPlace(const BackupPlace& place);
Result<BackupPlace> DecodeBackupPlace(std::string_view text);

}  // namespace native_runner
