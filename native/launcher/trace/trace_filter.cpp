#include "launcher/trace/trace_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <array>

#include "launcher/kernel/calls.h"
#include "launcher/trace/traced_calls.h"

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

// The two halves of the second argument, on little-endian machines.
constexpr unsigned kLow = offsetof(seccomp_data, args) + sizeof(std::uint64_t);
constexpr unsigned kHigh = kLow + sizeof(std::uint32_t);

// Two rows for most: the kernel knows of calls that no row asks about that they pass, and does not
// run this for them (since Linux 5.11).
template <unsigned Count>
constexpr std::array<sock_filter, SizeOf(Count)> MakeProgram() {
  std::array<sock_filter, SizeOf(Count)> rows{};
  std::size_t next = 0;
  rows[next++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  // Another's are refused by the filter of rules.h.
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

}  // namespace native_runner
