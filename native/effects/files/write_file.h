#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "effects/tree/beneath.h"
#include "effects/tree/file_stat.h"

namespace native_runner {

struct WriteRule {
  enum class If { kAny, kAbsent, kUnchanged };
  std::optional<mode_t> mode;  // none: the replaced file's, else 0666 less umask(2)
  If condition = If::kAny;
  FileVersion version;  // of kUnchanged
  bool flush = false;   // fsync(2) of the file and its directory
};

// Writes a file whole or not at all: a new file gets the content, and takes the old one's place
// when it is complete. Who reads meanwhile sees the one or the other; who has the old one open, or
// a hard link to it, keeps it. The owner is kept where that is permitted, extended attributes are
// not.
//
// kUnchanged exchanges the two and looks at what came out: if it is not the version any more, it is
// put back, and the result is kChanged. Gives what is known of the new file.
FileResult<FileStat> WriteFile(const Beneath& root, std::string_view relative,
                               std::span<const std::uint8_t> data, const WriteRule& rule);

}  // namespace native_runner
