#include "launcher/layers/mounts.h"

#include <fcntl.h>

#include "launcher/kernel/calls.h"

namespace native_runner {
namespace {

// Goes through the lines of proc_pid_mountinfo(5). The fields from the seventh up to "-" say what a
// mount has to do with others: nothing where there is none, or "unbindable". A path has no spaces
// in it, they are written as octal numbers.
class MountTableReader {
 public:
  // False: a mount has to do with others.
  bool Take(const char* text, long size) {
    for (const char* at = text; at < text + size; ++at) {
      if (!Take(*at)) return false;
    }
    return true;
  }

 private:
  static constexpr int kFirstOptional = 6;

  bool Take(char character) {
    if (character == '\n') {
      field_ = 0;
      is_after_fields_ = false;
      is_start_ = true;
    } else if (character == ' ') {
      ++field_;
      is_start_ = true;
    } else if (is_start_) {
      is_start_ = false;
      if (field_ < kFirstOptional || is_after_fields_) return true;
      is_after_fields_ = character == '-';
      return is_after_fields_ || character == 'u';
    }
    return true;
  }

  int field_ = 0;
  bool is_start_ = true;  // of a field
  bool is_after_fields_ = false;
};

}  // namespace

bool CheckMountsAreOwn(Refusal* refusal) {
  const int table = kernel::Open("/proc/self/mountinfo", O_RDONLY);
  char text[4096] = {};
  long got = table < 0 ? table : kernel::Read(table, text, sizeof text);
  bool are_own = got > 0;
  MountTableReader reader;
  for (; are_own && got > 0; got = kernel::Read(table, text, sizeof text))
    are_own = reader.Take(text, got);
  if (table >= 0) kernel::Close(table);
  if (are_own && got == 0) return true;
  refusal->shared_mounts = true;
  return refusal->Because(Layer::kMountNamespace, "a mount is shared with the host");
}

}  // namespace native_runner
