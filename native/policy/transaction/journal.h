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

inline constexpr char kOverlayBackend[] = "overlay";
inline constexpr char kCopyBackend[] = "copy";

// The record on disk of a transaction besides its files: enough to list it and to resume it in
// another process. Plain data.
struct TransactionRecord {
  std::string id;            // see IsTransactionId
  std::string workspace;     // the real path
  FileIdentity identity;     // of the workspace when the transaction was opened
  std::string backend;       // one of the above
  std::uint64_t created_ns;  // since 1970 (CLOCK_REALTIME)
  std::string parent = {};   // the transaction that it was forked from; "": none
};

// True for twelve of 0-9a-f, which is a valid file name, and not an option, everywhere.
bool IsTransactionId(std::string_view id);

// Encode and decode lines of NAME=VALUE, each ended by a NUL, since a path may contain any other
// byte. Decoding accepts only text that encoding makes, else returns kSetup with the fault.
std::string EncodeRecord(const TransactionRecord& record);
Result<TransactionRecord> DecodeRecord(std::string_view text);

// The record on disk of a checkpoint besides its files. Plain data.
struct CheckpointRecord {
  std::string id;                // like a transaction's: IsTransactionId
  std::string name;              // given by the user; "" if none was given
  std::uint64_t order = 0;       // later checkpoints have greater numbers
  std::uint64_t created_ns = 0;  // since 1970 (CLOCK_REALTIME)
  // The transaction's last commit when the checkpoint was made; "" for none. Another commit, or
  // taking this one back, makes the checkpoint invalid.
  std::string commit;
};

// Encode and decode like a transaction's record. Decoding accepts only text that encoding makes,
// else returns kSetup.
std::string EncodeCheckpoint(const CheckpointRecord& record);
Result<CheckpointRecord> DecodeCheckpoint(std::string_view text);

}  // namespace native_runner
