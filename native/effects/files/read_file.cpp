#include "effects/files/read_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "effects/tree/file_stat.h"

namespace native_runner {
namespace {

FileError TooLarge(std::uint64_t most) {
  FileError error;
  error.kind = FileError::Kind::kTooLarge;
  error.most = most;
  return error;
}

ssize_t ReadSome(int fd, std::uint8_t* data, std::size_t size) {
  ssize_t count = -1;
  do {
    count = read(fd, data, size);
  } while (count < 0 && errno == EINTR);
  return count;
}

FileResult<Bytes> ReadAll(int fd, std::uint64_t most) {
  OutputBuffer buffer({most, 0});
  for (;;) {
    auto [data, size] = buffer.Space();
    std::uint8_t beyond = 0;
    const bool is_full = size == 0;
    if (is_full && buffer.total() < most) return Refused("read", ENOMEM);
    const ssize_t count = is_full ? ReadSome(fd, &beyond, 1) : ReadSome(fd, data, size);
    if (count < 0) return Refused("read", errno);
    if (count == 0) return buffer.Take();
    if (is_full) return TooLarge(most);
    buffer.Commit(static_cast<std::size_t>(count));
  }
}

}  // namespace

FileResult<Bytes> ReadFile(const Beneath& root, std::string_view relative, std::uint64_t most) {
  auto entry = root.Entry(relative, "open");
  if (!entry) return entry.error();
  const auto stat = StatOf(entry->get(), "open");
  if (!stat) return stat.error();
  if (auto refused = RefuseNoFile(stat.value().type, "open")) return std::move(*refused);
  if (stat.value().size > most) return TooLarge(most);
  auto file = Reopen(entry->get(), O_RDONLY, "open");
  if (!file) return file.error();
  return ReadAll(file->get(), most);
}

}  // namespace native_runner
