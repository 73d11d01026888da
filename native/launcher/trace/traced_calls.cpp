#include "launcher/trace/traced_calls.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/kernel/text.h"

namespace native_runner {
namespace {

#if defined(__x86_64__)
constexpr unsigned kTracedArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr unsigned kTracedArchitecture = AUDIT_ARCH_AARCH64;
#endif

constexpr std::size_t kHead = 3;
constexpr std::size_t kMemoryRows = 7;

constexpr std::size_t RowsOf(const TracedCall& call) {
  return call.form == TracedCall::Form::kMemory ? kMemoryRows : 2;
}

constexpr std::size_t SizeOf(unsigned count) {
  std::size_t size = kHead + 1;
  for (unsigned index = 0; index < count; ++index)
    size += RowsOf(kTracedCalls[index]);
  return size;
}

// Offsets of the two halves of the second argument, on little-endian machines.
constexpr unsigned kLow = offsetof(seccomp_data, args) + sizeof(std::uint64_t);
constexpr unsigned kHigh = kLow + sizeof(std::uint32_t);

// Two rows for most calls. The kernel knows which calls always pass, and does not run the filter
// for them (since Linux 5.11).
template <unsigned Count>
constexpr std::array<sock_filter, SizeOf(Count)> MakeProgram() {
  std::array<sock_filter, SizeOf(Count)> rows{};
  std::size_t next = 0;
  rows[next++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  // The filter of rules.h refuses another architecture's calls.
  rows[next++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kTracedArchitecture, 0, 1);
  rows[next++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (unsigned index = 0; index < Count; ++index) {
    const auto number = static_cast<unsigned>(kTracedCalls[index].number);
    const auto size = static_cast<unsigned char>(RowsOf(kTracedCalls[index]) - 1);
    rows[next++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, size);
    if (kTracedCalls[index].form == TracedCall::Form::kMemory) {
      rows[next++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kHigh);
      rows[next++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
      rows[next++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kLow);
      rows[next++] = BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kTracedMemory, 1, 0);
      rows[next++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    rows[next++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | index);
  }
  rows[next++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return rows;
}

constexpr auto kTraceProgram = MakeProgram<CountBeforeLookUps()>();
constexpr auto kLookUpProgram = MakeProgram<kTracedCallCount>();

}  // namespace

long InstallTraceFilter(bool has_look_ups) {
  const sock_filter* rows = has_look_ups ? kLookUpProgram.data() : kTraceProgram.data();
  const std::size_t size = has_look_ups ? kLookUpProgram.size() : kTraceProgram.size();
  const sock_fprog filter{static_cast<unsigned short>(size), const_cast<sock_filter*>(rows)};
  return kernel::Prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                       reinterpret_cast<unsigned long>(&filter));
}

namespace {

using ObservedPath = FixedText<kMostObservedPath + 1>;

constexpr int kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

// Adds the target of a link in /proc; false if the link is missing, or leads to no path.
bool AddLink(const char* link, ObservedPath* path) {
  static char target[kMostObservedPath];
  const long size = kernel::ReadLink(link, target, sizeof target);
  if (size <= 0 || target[0] != '/') return false;
  path->Add(target, static_cast<std::size_t>(size));
  return true;
}

bool AddDirectory(pid_t process, int directory, ObservedPath* path) {
  const pid_t number = NumberInProc(process);
  if (number <= 0) return false;
  FixedText<64> link;
  link.Add("/proc/").AddNumber(number);
  if (directory == AT_FDCWD) {
    link.Add("/cwd");
  } else {
    link.Add("/fd/").AddNumber(directory);
  }
  return AddLink(link.c_str(), path);
}

void AddRelative(pid_t process, int directory, const char* name, ObservedPath* path) {
  if (name[0] != '/') {
    const bool is_found = AddDirectory(process, directory, path);
    if (is_found && name[0] != '\0' && path->c_str()[path->size() - 1] != '/') path->Add("/");
  }
  path->Add(name);
}

void FindPath(pid_t process, int directory, std::uint64_t address, ObservedPath* path) {
  static char name[kMostObservedPath];
  name[0] = '\0';
  if (address != 0 && !ReadText(process, address, name, sizeof name)) return;
  AddRelative(process, directory, name, path);
}

int DirectoryOf(std::int8_t index, const std::uint64_t (&arguments)[6]) {
  return index < 0 ? AT_FDCWD : static_cast<int>(arguments[index]);
}

// Stores a UNIX socket's path in `path`, and any other address as it is.
void FindAddress(pid_t process, std::uint64_t address, std::uint64_t size, Observations::Text* told,
                 ObservedPath* path) {
  static char bytes[kMostObservedAddress + 1];
  const auto wanted = std::min<std::uint64_t>(size, kMostObservedAddress);
  const long got = kernel::ReadMemory(process, address, bytes, wanted);
  if (got < static_cast<long>(sizeof(sa_family_t))) return;
  sa_family_t family = 0;
  std::memcpy(&family, bytes, sizeof family);
  constexpr std::size_t kPath = offsetof(sockaddr_un, sun_path);
  bytes[got] = '\0';
  if (family == AF_UNIX && got > static_cast<long>(kPath) && bytes[kPath] != '\0') {
    AddRelative(process, AT_FDCWD, bytes + kPath, path);
  } else {
    *told = {bytes, static_cast<std::size_t>(got)};
  }
}

}  // namespace

void ObserveCall(pid_t process, const TracedCall& call, const std::uint64_t (&arguments)[6],
                 Observations::Text program, int error, Observations* observations) {
  using Form = TracedCall::Form;
  static ObservedPath path;
  static ObservedPath second;
  path.Clear();
  second.Clear();
  Observations::Seen seen;
  seen.kind = call.kind;
  seen.error = error;
  seen.call = call.name;
  if (call.argument >= 0) seen.argument = arguments[call.argument];
  if (call.form == Form::kOpenHow) {
    const std::uint64_t how = seen.argument;
    seen.argument = 0;
    kernel::ReadMemory(process, how, &seen.argument, sizeof seen.argument);
  }
  if ((call.form == Form::kOpen || call.form == Form::kOpenHow) && (seen.argument & kWrites) != 0)
    seen.kind = ObservationKind::kWrite;
  if (call.form == Form::kAddress) {
    FindAddress(process, arguments[1], arguments[2], &seen.address, &path);
  } else if (call.form == Form::kFile) {
    AddDirectory(process, static_cast<int>(arguments[0]), &path);
  } else if (call.path >= 0) {
    FindPath(process, DirectoryOf(call.directory, arguments), arguments[call.path], &path);
  }
  if (call.second_path >= 0) {
    FindPath(process, DirectoryOf(call.second_directory, arguments), arguments[call.second_path],
             &second);
  }
  seen.path = {path.c_str(), path.size()};
  seen.second_path = {second.c_str(), second.size()};
  seen.program = program;
  observations->Add(seen);
}

}  // namespace native_runner
