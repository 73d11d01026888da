#include "effects/copy/copy_contents.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace native_runner {
namespace {

constexpr off_t kMostAtOnce = off_t{16} << 20U;  // between two looks at whether to stop
constexpr std::size_t kBlock = std::size_t{128} << 10U;

// What the kernel says where two files can't be copied by it.
bool IsUnsupported(int number) {
  return number == EXDEV || number == EINVAL || number == ENOSYS || number == EOPNOTSUPP ||
         number == EPERM || number == ETXTBSY;
}

int WriteAll(int to, const char* data, std::size_t size, off_t at) {
  while (size > 0) {
    const ssize_t written = pwrite(to, data, size, at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    data += written;
    size -= static_cast<std::size_t>(written);
    at += written;
  }
  return 0;
}

class Contents {
 public:
  Contents(int from, int to, CopyProgress* progress) : from_(from), to_(to), progress_(progress) {}

  // What there is from `at` to `end`; less where the file has become shorter.
  int CopyRange(off_t at, off_t end) {
    while (at < end && !is_by_hand_) {
      if (progress_->is_stopped) return ECANCELED;
      off_t read = at;
      off_t written = at;
      const auto most = static_cast<std::size_t>(std::min(end - at, kMostAtOnce));
      const ssize_t copied = copy_file_range(from_, &read, to_, &written, most, 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied < 0 && !IsUnsupported(errno)) return errno;
      // A file of the kernel's own has nothing for this call, though it may be read.
      is_by_hand_ = copied <= 0;
      Count(copied);
      at += std::max<ssize_t>(copied, 0);
    }
    return at < end ? ReadAndWrite(at, end) : 0;
  }

 private:
  void Count(ssize_t bytes) const {
    if (bytes <= 0) return;
    progress_->bytes += static_cast<std::uint64_t>(bytes);
    progress_->Tell();
  }

  int ReadAndWrite(off_t at, off_t end) {
    block_.resize(kBlock);
    while (at < end) {
      if (progress_->is_stopped) return ECANCELED;
      const auto most = std::min<std::size_t>(kBlock, static_cast<std::size_t>(end - at));
      const ssize_t got = pread(from_, block_.data(), most, at);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno;
      if (got == 0) return 0;
      if (const int error = WriteAll(to_, block_.data(), static_cast<std::size_t>(got), at);
          error != 0) {
        return error;
      }
      Count(got);
      at += got;
    }
    return 0;
  }

  int from_;
  int to_;
  CopyProgress* progress_;
  bool is_by_hand_ = false;
  std::vector<char> block_;
};

}  // namespace

int CopyContents(int from, int to, std::uint64_t size, CopyProgress* progress) {
  if (size == 0) return 0;
  if (ioctl(to, FICLONE, from) == 0) return 0;
  const auto end = static_cast<off_t>(size);
  Contents contents(from, to, progress);
  for (off_t at = 0; at < end;) {
    off_t data = lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole to the end
    if (data < 0) data = at;                // it knows of no holes
    const off_t hole = lseek(from, data, SEEK_HOLE);
    const off_t until = hole <= data ? end : std::min(hole, end);
    if (const int error = contents.CopyRange(data, until); error != 0) return error;
    at = until;
  }
  return ftruncate(to, end) == 0 ? 0 : errno;
}

}  // namespace native_runner
