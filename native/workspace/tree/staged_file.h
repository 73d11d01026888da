#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "policy/result.h"
#include "supervise/os/descriptor.h"
#include "workspace/tree/beneath.h"

namespace native_runner {

// What a file is going to hold, in the file's directory but not under its name. Where the file
// system can (O_TMPFILE) it has no name at all while it is written; else, and for the moment in
// which it takes an older file's place, one of its own, ".native-runner-" and 16 hexadecimal
// digits. What still has that name is removed with the object. `directory` must outlive it.
class StagedFile {
 public:
  // An empty file to write to; umask(2) takes its share of `mode`.
  static FileResult<StagedFile> Make(int directory, mode_t mode);
  ~StagedFile() { RemoveName(); }
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;

  int get() const { return file_.get(); }

  // Takes a name that nothing has: EEXIST when something has.
  FileResult<Done> LinkAs(const std::string& name);
  // Takes a name from whatever file has it.
  FileResult<Done> Replace(const std::string& name);
  // Takes a name and leaves what had it under its own, which is given; EINVAL where the file system
  // can't. The second call of the same undoes it.
  FileResult<std::string> Exchange(const std::string& name);

 private:
  StagedFile(int directory, Descriptor file, std::string own_name)
      : directory_(directory), file_(std::move(file)), own_name_(std::move(own_name)) {}

  FileResult<Done> LinkTo(const std::string& name);
  FileResult<Done> EnsureName();
  void RemoveName();

  int directory_;
  Descriptor file_;
  std::string own_name_;  // empty: it has none
};

// The small files in a transaction's directory, which a process that dies leaves whole or not at
// all. `directory` is open for reading.

// The most bytes that ReplaceFile writes, so that ReadWholeFile can read whatever was written. Some
// ten million changes.
inline constexpr std::size_t kMostWholeFile = std::size_t{4} << 30U;

// Puts a file in the place of the one that is there, 0600. `is_durable`: the text, and that it is
// there, are on disk when this returns (fsync(2)); else a loss of power may cost all of it. kSetup
// for a text of more than kMostWholeFile.
std::optional<Error> ReplaceFile(int directory, const std::string& name, const std::string& text,
                                 bool is_durable);

// The name that its text has until it takes that place, and keeps where the process dies before.
std::string StagedName(const std::string& name);

// Reads a whole file of at most `most` bytes; nullopt if it is missing. kSetup for a larger file,
// and for anything but a regular file, a link included.
Result<std::optional<std::string>> ReadWholeFile(int directory, const std::string& name,
                                                 std::size_t most = kMostWholeFile);

// Twelve of 0-9a-f that nobody could guess, as IsTransactionId wants them.
Result<std::string> NewId();

// The moment at which it is asked, since 1970 (CLOCK_REALTIME).
std::uint64_t NowNs();

}  // namespace native_runner
