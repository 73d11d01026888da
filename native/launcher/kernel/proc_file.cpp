#include "launcher/kernel/proc_file.h"

#include <cstdint>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/text/fixed_text.h"

namespace native_runner {
namespace {

// Of getdents64(2)'s record: u64 inode, s64 offset, u16 size, u8 type, name.
constexpr std::size_t kSizeOffset = 16;
constexpr std::size_t kNameOffset = 19;

bool ParseNumber(const char* text, int* number) {
  int value = 0;
  if (*text == '\0') return false;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9') return false;
    value = value * 10 + (*text - '0');
  }
  *number = value;
  return true;
}

// What stands behind a label that a line begins with; null where no line does.
const char* AfterLabel(const char* text, const char* label) {
  const std::size_t size = std::strlen(label);
  for (bool is_start = true; *text != '\0'; is_start = *text++ == '\n') {
    std::size_t same = 0;
    while (is_start && same < size && text[same] == label[same])
      ++same;
    if (same == size) return text + size;
  }
  return nullptr;
}

}  // namespace

ProcDirectory::ProcDirectory(const char* path)
    : descriptor_(kernel::Open(path, O_RDONLY | O_DIRECTORY)) {}

ProcDirectory::~ProcDirectory() {
  if (descriptor_ >= 0) kernel::Close(descriptor_);
}

bool ProcDirectory::NextNumber(int* number) {
  if (!ok()) return false;
  for (;;) {
    if (position_ == filled_) {
      const long got = kernel::ReadDirectory(descriptor_, bytes_, sizeof bytes_);
      if (got <= 0) return false;
      position_ = 0;
      filled_ = static_cast<std::size_t>(got);
    }
    const char* record = bytes_ + position_;
    std::uint16_t size = 0;
    std::memcpy(&size, record + kSizeOffset, sizeof size);
    position_ += size;
    if (ParseNumber(record + kNameOffset, number)) return true;
  }
}

bool ReadProcessState(pid_t pid, ProcessState* state) {
  FixedText<32> path;
  path.Add("/proc/").AddNumber(pid).Add("/stat");
  const int fd = kernel::Open(path.c_str(), O_RDONLY);
  if (fd < 0) return false;
  char bytes[512];
  const long got = kernel::Read(fd, bytes, sizeof bytes - 1);
  kernel::Close(fd);
  if (got <= 0) return false;
  bytes[got] = '\0';
  // "pid (name) state parent ...": the name may hold anything, so the last ')' is what counts.
  const char* rest = bytes + got;
  while (rest > bytes && *rest != ')')
    --rest;
  if (rest == bytes || std::strlen(rest) < 5) return false;
  state->is_dead = rest[2] == 'Z' || rest[2] == 'X';
  state->parent = 0;
  for (rest += 4; *rest >= '0' && *rest <= '9'; ++rest) {
    state->parent = state->parent * 10 + (*rest - '0');
  }
  return true;
}

bool IsProcOurs() {
  char target[16] = {};
  const long size = kernel::ReadLink("/proc/self", target, sizeof target - 1);
  int pid = 0;
  return size > 0 && ParseNumber(target, &pid) && pid == kernel::ProcessId();
}

pid_t NumberInProc(pid_t process) {
  if (IsProcOurs()) return process;
  const int pidfd = kernel::OpenPidfd(process);
  if (pidfd < 0) return 0;
  // proc_pid_fdinfo(5): of a pidfd the line "Pid:" has its number in the namespace of that /proc.
  FixedText<48> path;
  path.Add("/proc/self/fdinfo/").AddNumber(pidfd);
  const int file = kernel::Open(path.c_str(), O_RDONLY);
  char bytes[512];
  const long got = file < 0 ? 0 : kernel::Read(file, bytes, sizeof bytes - 1);
  if (file >= 0) kernel::Close(file);
  kernel::Close(pidfd);
  bytes[got > 0 ? got : 0] = '\0';
  const char* line = AfterLabel(bytes, "Pid:\t");
  pid_t number = 0;
  for (; line != nullptr && *line >= '0' && *line <= '9'; ++line) {
    number = number * 10 + (*line - '0');
  }
  return number;
}

}  // namespace native_runner
