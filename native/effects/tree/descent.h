#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "effects/tree/beneath.h"

namespace native_runner {

// The way from a directory down into its tree, however deep: of the directories on it, only the
// lowest few are held open. The way back is by "..", and only to the directory that it came from,
// by its inode number: one that was moved meanwhile is EBUSY.
class Descent {
 public:
  Descent(Descriptor top, Mounts mounts);  // top: O_RDONLY

  int directory() const { return steps_.back().directory.get(); }
  std::size_t depth() const { return steps_.size() - 1; }  // 0 at the top

  // One step down, into a directory; as OpenBeneath.
  FileResult<Done> Enter(const std::string& name, const char* call);
  // One step up; not at the top.
  FileResult<Done> Leave(const char* call);

 private:
  struct Step {
    Descriptor directory;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };
  static constexpr std::size_t kMostHeld = 32;

  static FileResult<Step> StepOf(Descriptor directory, const char* call);

  Mounts mounts_;
  std::vector<Step> steps_;
};

struct NamedType {
  std::string name;
  std::uint8_t type = 0;  // DT_*
};

// What a directory holds, "." and ".." left out, in no order: from where the last call ended, until
// `most` names are there or there are no more (`names` stays as it is). Names are any bytes.
FileResult<Done> ReadNames(int directory, std::size_t most, std::vector<NamedType>& names);

}  // namespace native_runner
