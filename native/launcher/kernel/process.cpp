#include "launcher/kernel/process.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/text.h"
#include "protocol/report.h"

namespace native_runner {
namespace {

// Offsets in a record of getdents64(2): u64 inode, s64 offset, u16 size, u8 type, name.
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

// Returns the text after `label` at the start of a line; nullptr if no line starts with it.
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

bool ProcDirectory::NextName(const char** name) {
  if (!ok()) return false;
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
  *name = record + kNameOffset;
  return true;
}

bool ProcDirectory::NextNumber(int* number) {
  const char* name = nullptr;
  while (NextName(&name)) {
    if (ParseNumber(name, number)) return true;
  }
  return false;
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
  // "pid (name) state parent ...": the name may contain anything, so the last ')' ends it.
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
  // proc_pid_fdinfo(5): a pidfd's line "Pid:" is the process's number in the namespace of that
  // /proc.
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

std::size_t ReadProgram(pid_t process, char* name, std::size_t size) {
  const pid_t number = NumberInProc(process);
  if (number <= 0) return 0;
  FixedText<64> path;
  path.Add("/proc/").AddNumber(number).Add("/comm");
  const int file = kernel::Open(path.c_str(), O_RDONLY);
  if (file < 0) return 0;
  long got = kernel::Read(file, name, size);
  kernel::Close(file);
  if (got > 0 && name[got - 1] == '\n') --got;
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

bool ReadText(pid_t process, std::uint64_t address, char* text, std::size_t size) {
  constexpr std::size_t kPage = 4096;  // the smallest page size: the next page may be unreadable
  for (std::size_t filled = 0; filled < size;) {
    const std::size_t rest = kPage - ((address + filled) % kPage);
    const std::size_t wanted = std::min<std::size_t>(rest, size - filled);
    const long got = kernel::ReadMemory(process, address + filled, text + filled, wanted);
    if (got <= 0) return false;
    if (std::memchr(text + filled, 0, static_cast<std::size_t>(got)) != nullptr) return true;
    filled += static_cast<std::size_t>(got);
  }
  return false;
}

namespace {

constexpr int kFirstExtra = kControlDescriptor + 1;

// Replaces close_range(2) before Linux 5.9: closes the descriptors that /proc lists or, without
// /proc, every number that the limit allows.
void CloseOneByOne() {
  ProcDirectory directory("/proc/self/fd");
  if (!directory.ok()) {
    rlimit limit{};
    kernel::SetLimit(RLIMIT_NOFILE, nullptr, &limit);
    for (std::uint64_t fd = kFirstExtra; fd < limit.rlim_max && fd <= INT_MAX; ++fd) {
      kernel::Close(static_cast<int>(fd));
    }
    return;
  }
  for (int fd = 0; directory.NextNumber(&fd);) {
    if (fd >= kFirstExtra && fd != directory.descriptor()) kernel::Close(fd);
  }
}

}  // namespace

void CloseInheritedDescriptors() {
  if (kernel::CloseRange(kFirstExtra, UINT_MAX) != 0) CloseOneByOne();
  kernel::SetCloseOnExec(kControlDescriptor);
}

namespace {

constexpr int kLastStandardSignal = 31;

}  // namespace

void PrepareSignals() {
  kernel::SetSignalMask(kernel::kAllSignals);
  for (int signal = 1; signal <= kLastStandardSignal; ++signal) {
    kernel::SetDefaultAction(signal);
  }
}

namespace {

bool WriteMap(int proc, const char* path, const char* text, std::size_t size) {
  const int fd = kernel::OpenIn(proc, path, O_WRONLY);
  if (fd < 0) return false;
  const bool written = kernel::Write(fd, text, size) == static_cast<long>(size);
  kernel::Close(fd);
  return written;
}

bool MapOne(int proc, const char* path, long inner, long outer) {
  FixedText<64> line;
  line.AddNumber(inner).Add(" ").AddNumber(outer).Add(" 1\n");
  return WriteMap(proc, path, line.c_str(), line.size());
}

}  // namespace

bool MapUser(const UserMap& map, int proc) {
  return WriteMap(proc, "self/setgroups", "deny", 4) &&
         MapOne(proc, "self/gid_map", map.gid, map.outer_gid) &&
         MapOne(proc, "self/uid_map", map.uid, map.outer_uid);
}

bool MapUser(long uid, long gid) {
  const int proc = kernel::Open("/proc", O_PATH | O_DIRECTORY);
  if (proc < 0) return false;
  const bool is_mapped = MapUser({uid, gid, uid, gid}, proc);
  kernel::Close(proc);
  return is_mapped;
}

}  // namespace native_runner
