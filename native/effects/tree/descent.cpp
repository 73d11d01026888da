#include "effects/tree/descent.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "effects/tree/file_stat.h"

namespace native_runner {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;

// A record of getdents64(2), which has no header.
struct Record {
  std::size_t length = 0;
  std::uint8_t type = 0;
  std::string_view name;
};

Record RecordAt(const char* at) {
  constexpr std::size_t kLengthAt = 16;
  constexpr std::size_t kTypeAt = 18;
  constexpr std::size_t kNameAt = 19;
  std::uint16_t length = 0;
  std::memcpy(&length, at + kLengthAt, sizeof(length));
  return {length, static_cast<std::uint8_t>(at[kTypeAt]), std::string_view(at + kNameAt)};
}

}  // namespace

Descent::Descent(Descriptor top, Mounts mounts) : mounts_(mounts) {
  steps_.push_back({std::move(top), 0, 0});
}

FileResult<Descent::Step> Descent::StepOf(Descriptor directory, const char* call) {
  const auto stat = StatOf(directory.get(), call);
  if (!stat) return stat.error();
  const FileVersion& version = stat.value().version;
  return Step{std::move(directory), version.device, version.inode};
}

FileResult<Done> Descent::Enter(const std::string& name, const char* call) {
  auto entered = OpenBeneath(directory(), name, kDirectoryFlags, call, mounts_);
  if (!entered) return entered.error();
  auto step = StepOf(std::move(*entered), call);
  if (!step) return step.error();
  steps_.push_back(std::move(*step));
  // The top is always held: it is where the walk was allowed to begin.
  if (steps_.size() > kMostHeld + 1) steps_[steps_.size() - 1 - kMostHeld].directory.Close();
  return Done{};
}

FileResult<Done> Descent::Leave(const char* call) {
  Step& above = steps_[steps_.size() - 2];
  if (!above.directory.valid()) {
    Descriptor up(openat(directory(), "..", kDirectoryFlags | O_NOFOLLOW | O_CLOEXEC));
    if (!up.valid()) return Refused(call, errno);
    auto step = StepOf(std::move(up), call);
    if (!step) return step.error();
    if (step->device != above.device || step->inode != above.inode) return Refused(call, EBUSY);
    above = std::move(*step);
  }
  steps_.pop_back();
  return Done{};
}

FileResult<Done> ReadNames(int directory, std::size_t most, std::vector<NamedType>& names) {
  std::array<char, std::size_t{32} << 10U> buffer{};
  while (names.size() < most) {
    const long size = syscall(SYS_getdents64, directory, buffer.data(), buffer.size());
    if (size < 0) return Refused("scandir", errno);
    if (size == 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      const Record record = RecordAt(buffer.data() + at);
      at += record.length;
      if (record.name != "." && record.name != "..") {
        names.push_back({std::string(record.name), record.type});
      }
    }
  }
  return Done{};
}

}  // namespace native_runner
