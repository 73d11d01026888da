#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "policy/result.h"

namespace native_runner {

// What is known of a file of the host's without opening it, and what tells it from what it was
// before or will be: nobody can set `changed_ns` (ctime) or `born_ns`. Plain data; times in
// nanoseconds since 1970.
struct HostFile {
  std::uint32_t mode = 0;  // as stat(2) has it, with the type
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t modified_ns = 0;
  std::uint64_t changed_ns = 0;
  std::uint64_t born_ns = 0;  // 0 where the file system keeps none; an inode's number is used again

  bool is_directory() const { return (mode & 0170000U) == 0040000U; }

  friend bool operator==(const HostFile&, const HostFile&) = default;

  bool IsSameInode(const HostFile& other) const {
    return device == other.device && inode == other.inode && born_ns == other.born_ns;
  }
  // But for ctime, which a rename sets, and which is a directory's for each name in it.
  bool HasSameAttributes(const HostFile& other) const {
    return mode == other.mode && uid == other.uid && gid == other.gid;
  }
  // Whether the content is the same for all that can be said after a rename.
  bool HasSameContent(const HostFile& other) const {
    return IsSameInode(other) && HasSameAttributes(other) && size == other.size &&
           modified_ns == other.modified_ns;
  }
};

// How the files of a transaction's directory are written: fields that each end with a NUL, since a
// path may hold anything else. Numbers are decimal.
void PutField(std::string* text, std::string_view value);
void PutNumber(std::string* text, std::uint64_t number);
void PutHostFile(std::string* text, const HostFile& file);

// Take the next field from `rest`. False where there is none, or where it is not of that kind.
bool TakeField(std::string_view* rest, std::string* value);
bool TakeNumber(std::string_view* rest, std::uint64_t* number);
bool TakeHostFile(std::string_view* rest, HostFile* file);

// What a copy of a workspace was when it was made, by path ("." is the workspace): what is still
// the same has not been changed, since nobody can set ctime. What it was made of is in the ledger.
// Plain data.
struct CopyManifest {
  // One that is empty is like nothing that can be there: what is at its path has been changed.
  std::map<std::string, HostFile, std::less<>> copies;
};

// A file of the copy as it would be on the host: whose mode, owner and group are what the copy's
// were when it was made has those of the host's file, which an ordinary user can't give to a copy.
// nullptr: there was none.
HostFile AsOnHost(HostFile now, const HostFile* copy, const HostFile* host);

// As it is kept on disk. Decoding takes nothing but what encoding gives: kSetup.
std::string EncodeManifest(const CopyManifest& manifest);
Result<CopyManifest> DecodeManifest(std::string_view text);

// What the host had at a path when the transaction was seen to have changed it.
struct Baseline {
  // Nothing had changed it in the transaction before this moment. What lies below a directory that
  // the transaction has removed is judged by it.
  std::uint64_t since_ns = 0;
  // The host may have changed it between the transaction's change and the look: it counts as if it
  // had, for good.
  bool is_suspect = false;
  std::optional<HostFile> host;  // nullopt: it had nothing
};

// The baselines of all that a transaction has changed, by path ("." is the workspace). A path is
// noted once, and forgotten only when the transaction has no change there any more. Plain data.
struct Ledger {
  // When the last look began: what it has not noted was changed later.
  std::uint64_t looked_ns = 0;
  std::map<std::string, Baseline, std::less<>> baselines;
};

// Whether the host has something else at a path than the baseline says. `now`: what it has;
// `is_hidden`: a directory of the host's there, if it is one, is no longer seen in the transaction,
// so that a name more or less in it is a change too.
bool HostHasChanged(const Baseline& baseline, const std::optional<HostFile>& now, bool is_hidden);

// From when on a change of the host's to a path counts that has no baseline: as for the lowest
// directory above it that has one, or from the last look on.
std::uint64_t SinceAbove(const Ledger& ledger, std::string_view path);

// As it is kept on disk. Decoding takes nothing but what encoding gives: kSetup.
std::string EncodeLedger(const Ledger& ledger);
Result<Ledger> DecodeLedger(std::string_view text);

}  // namespace native_runner
