#pragma once

#include <sys/types.h>

#include <string>

#include "effects/tree/file_error.h"
#include "supervise/os/descriptor.h"

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

}  // namespace native_runner
