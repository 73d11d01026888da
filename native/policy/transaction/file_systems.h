#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"

namespace native_runner {

// Identifies a file system for longer than it is mounted: its device number may be another one
// after a boot (loop, NVMe and device-mapper devices, network and btrfs mounts). 0
// stands for what is not known. Plain data.
struct FileSystemId {
  std::uint64_t uuid = 0;    // a hash of its UUID
  std::uint64_t fsid = 0;    // f_fsid of statfs(2), if that is not the device number
  std::uint64_t handle = 0;  // a hash of a directory's file handle and birth

  friend bool operator==(const FileSystemId&, const FileSystemId&) = default;

  // Compares the strongest mark that both have. kUnknown if there is none; another handle tells
  // nothing.
  enum class Likeness : std::uint8_t { kSame, kOther, kUnknown };
  Likeness Compare(const FileSystemId& other) const;
};

// A file system as a file of a transaction's directory refers to it.
struct NumberedFileSystem {
  std::string role;          // a directory that it contains, the same at each time: "workspace"
  std::uint64_t device = 0;  // the number that it has when the file is written
  FileSystemId id;
};
using FileSystemList = std::vector<NumberedFileSystem>;

// Puts the file systems, if any, before the text of a file that contains their device numbers. With
// a checksum of its own: a damaged number would lead to other files.
std::string WithFileSystems(const FileSystemList& list, std::string_view text);

// Takes them off again. A text without any, of an earlier version, has none. kSetup for a damaged
// list.
Result<FileSystemList> TakeFileSystems(std::string_view* text);

// The device numbers that file systems had, and the ones that they have now.
class Renumbering {
 public:
  // `then` and `now` are compared by their roles. A file system that was replaced by another one
  // gets the number 0, which no file has: what was on it must not be taken for what is on that one.
  Renumbering(const FileSystemList& then, const FileSystemList& now);

  bool changes_nothing() const { return numbers_.empty(); }
  void Apply(std::uint64_t* device) const;
  void Apply(HostFile* file) const { Apply(&file->device); }
  void Apply(Ledger* ledger) const;
  void Apply(CopyManifest* manifest) const;
  void Apply(Journal* journal) const;
  void Apply(BackupPlace* place) const { Apply(&place->identity.device); }
  void Apply(TransactionRecord* record) const { Apply(&record->identity.device); }

 private:
  struct Number {
    std::uint64_t then = 0;
    std::uint64_t now = 0;
  };
  std::vector<Number> numbers_;  // those that differ
};

// Decodes what WithFileSystems has written around the text of an encoder, with the device numbers
// of now. The errors of `decode`, and kSetup for a damaged list.
template <typename Decode>
auto DecodeRenumbered(std::string_view text, const FileSystemList& now, const Decode& decode)
    -> decltype(decode(text)) {
  const auto then = TakeFileSystems(&text);
  if (!then) return then.error();
  auto decoded = decode(text);
  if (decoded) Renumbering(then.value(), now).Apply(&*decoded);
  return decoded;
}

// File systems that keep whole seconds, or every second one, give a file the same times for that
// long: ext4 with inodes of 128 bytes, ext3, HFS+, FAT. A time itself shows that: of the others all
// but none is that round.
inline constexpr std::uint64_t kCoarseTickNs = 2'000'000'000;

// True if a time, in nanoseconds since 1970, is one of such a file system.
constexpr bool IsCoarse(std::uint64_t time_ns) {
  constexpr std::uint64_t kRound = 10'000'000;
  return time_ns % kRound == 0;
}

// True if what has this time may have been changed at a moment or later. `moment_ns`: by the clock
// of file times.
constexpr bool MayBeSince(std::uint64_t time_ns, std::uint64_t moment_ns) {
  return time_ns >= (IsCoarse(time_ns) ? moment_ns - moment_ns % kCoarseTickNs : moment_ns);
}

}  // namespace native_runner
