#include "launcher/renames/directory_entries.h"

#include <dirent.h>

#include <cstdint>
#include <cstring>

#include "launcher/kernel/file_calls.h"

namespace native_runner {
namespace {

// Of getdents64(2)'s record: u64 inode, s64 offset, u16 size, u8 type, name.
constexpr std::size_t kSizeOffset = 16;
constexpr std::size_t kTypeOffset = 18;
constexpr std::size_t kNameOffset = 19;

bool IsDots(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): of the bytes, `filled_` are
DirectoryEntries::DirectoryEntries(int directory) : directory_(directory) {
  kernel::Rewind(directory);
}

long DirectoryEntries::Next() {
  do {
    if (position_ == filled_) {
      const long got = kernel::ReadDirectory(directory_, bytes_, sizeof bytes_);
      if (got <= 0) return got;
      position_ = 0;
      filled_ = static_cast<std::size_t>(got);
    }
    const char* const record = bytes_ + position_;
    std::uint16_t size = 0;
    std::memcpy(&size, record + kSizeOffset, sizeof size);
    type_ = static_cast<unsigned char>(record[kTypeOffset]);
    name_ = record + kNameOffset;
    position_ += size;
  } while (IsDots(name_));
  return 1;
}

bool DirectoryEntries::is_directory() const {
  if (type_ != DT_UNKNOWN) return type_ == DT_DIR;
  struct stat status {};
  return kernel::StatEntry(directory_, name_, &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace native_runner
