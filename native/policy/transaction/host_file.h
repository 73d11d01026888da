#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "policy/result.h"

namespace native_runner {

// The attributes of a host file that can be read without opening it. They distinguish it from its
// earlier and later states, because `changed_ns` (ctime) and `born_ns` can't be set. Plain data;
// times in nanoseconds since 1970.
struct HostFile {
  std::uint32_t mode = 0;  // as stat(2) returns it, with the type
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t modified_ns = 0;
  std::uint64_t changed_ns = 0;
  std::uint64_t born_ns = 0;  // 0 if the file system keeps none; inode numbers are reused

  bool is_directory() const { return (mode & 0170000U) == 0040000U; }

  friend bool operator==(const HostFile&, const HostFile&) = default;

  bool IsSameInode(const HostFile& other) const {
    return device == other.device && inode == other.inode && born_ns == other.born_ns;
  }
  // Compares all but ctime, which a rename sets, and which changes in a directory with each name in
  // it.
  bool HasSameAttributes(const HostFile& other) const {
    return mode == other.mode && uid == other.uid && gid == other.gid;
  }
  // True if the content is the same, as far as can be seen after a rename.
  bool HasSameContent(const HostFile& other) const {
    return IsSameInode(other) && HasSameAttributes(other) && size == other.size &&
           modified_ns == other.modified_ns;
  }
};

// Format of the files in a transaction's directory: fields that each end with a NUL, since a path
// may contain any other byte. Numbers are decimal.
void PutField(std::string* text, std::string_view value);
void PutNumber(std::string* text, std::uint64_t number);
void PutHostFile(std::string* text, const HostFile& file);

// Take the next field from `rest`. Return false if no field is left or it has another form.
bool TakeField(std::string_view* rest, std::string* value);
bool TakeNumber(std::string_view* rest, std::uint64_t* number);
bool TakeHostFile(std::string_view* rest, HostFile* file);

// Returns a checksum (FNV-1a, 64 bits). It finds damage, not forgery: only this user may write to
// these files.
std::uint64_t ChecksumOf(std::string_view text);

// Put and take what ends a file: a mark, and the checksum of all before it. Taking returns false if
// something is damaged or follows. `whole`: the text from its beginning. `has_checksum`: earlier
// versions of the formats have the mark alone.
void PutEnd(std::string* text);
bool TakeEnd(std::string_view whole, std::string_view* rest, bool has_checksum);

// The state of a workspace's copy when it was made, by path ("." is the workspace). A file that is
// still in this state has not been changed, since ctime can't be set. The ledger has the files that
// it was copied from. Plain data.
struct CopyManifest {
  // An empty HostFile equals no real file, so the path counts as changed.
  std::map<std::string, HostFile, std::less<>> copies;
};

// Returns a file of the copy as it would be on the host. If its mode, owner and group are still
// those that the copy was made with, it gets those of the host's file, which an ordinary user can't
// give to a copy. nullptr: no such file existed.
HostFile AsOnHost(HostFile now, const HostFile* copy, const HostFile* host);

// Encode and decode the form on disk, which ends with a checksum (not in version 1). Decoding
// accepts only text that encoding makes, else returns kSetup.
std::string EncodeManifest(const CopyManifest& manifest);
Result<CopyManifest> DecodeManifest(std::string_view text);

// The host's file at a path when the transaction was first seen to have changed it.
struct Baseline {
  // The transaction had not changed the path before this moment. Conflicts below a directory that
  // the transaction has removed are judged by it.
  std::uint64_t since_ns = 0;
  // The host may have changed the path between the transaction's change and the look. It then
  // counts as changed by the host, permanently.
  bool is_suspect = false;
  std::optional<HostFile> host;  // nullopt: no file
  // Of the host's contents, where a change of them may leave the times as they are.
  std::optional<std::uint64_t> contents = std::nullopt;
};

// The baselines of all paths that a transaction has changed ("." is the workspace). A path is
// recorded once, and dropped only when the transaction no longer changes it. Plain data.
struct Ledger {
  // When the last look began. A path without a baseline was changed after it.
  std::uint64_t looked_ns = 0;
  std::map<std::string, Baseline, std::less<>> baselines;
  // Directories of the host's that the transaction shows no more, and whose files were looked at.
  // Not on disk: after a resume they are looked at again.
  std::set<std::string, std::less<>> hidden;
};

// True if the host's file at a path differs from the baseline, but for contents that were noted.
// `now`: the host's current file.
// `is_hidden`: the transaction no longer shows the host's directory there, so a name added to it or
// removed from it is a change too.
bool HostHasChanged(const Baseline& baseline, const std::optional<HostFile>& now, bool is_hidden);

// Returns the time from which a host's change to a path without a baseline counts: since_ns of the
// nearest directory above it that has a baseline, else the last look.
std::uint64_t SinceAbove(const Ledger& ledger, std::string_view path);

// Encode and decode the form on disk, which ends with a checksum (not in version 1, which has no
// end either). Decoding accepts only text that encoding makes, else returns kSetup.
std::string EncodeLedger(const Ledger& ledger);
Result<Ledger> DecodeLedger(std::string_view text);

}  // namespace native_runner
