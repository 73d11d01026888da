#include "launcher/trace/traced_start.h"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "launcher/kernel/trace_calls.h"

namespace native_runner {
namespace {

constexpr std::uint32_t kDumpable = 1;
constexpr std::uint32_t kTraced = 2;

}  // namespace

void TracedStart::Tell(std::uint32_t stage) {
  __atomic_store_n(&stage_, stage, __ATOMIC_RELEASE);
  kernel::Call(SYS_futex, &stage_, FUTEX_WAKE, 1);
}

// Not for longer than a moment at once: the other side may have ended.
void TracedStart::Await(std::uint32_t stage) {
  constexpr int kMostRounds = 1000;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::uint32_t now = __atomic_load_n(&stage_, __ATOMIC_ACQUIRE);
    if (now >= stage) return;
    const timespec moment{0, 10'000'000};
    kernel::Call(SYS_futex, &stage_, FUTEX_WAIT, now, &moment);
  }
}

void TracedStart::WaitForTracer() {
  kernel::Prctl(PR_SET_DUMPABLE, 1);
  Tell(kDumpable);
  Await(kTraced);
}

long TracedStart::Attach(pid_t process) {
  Await(kDumpable);
  const long result = Tracer::Seize(process);
  Tell(kTraced);
  return result;
}

bool TracedStart::Follow(pid_t process, Tracer* tracer) {
  for (;;) {
    siginfo_t seen{};
    constexpr int kAny = WEXITED | WSTOPPED | __WALL;
    if (kernel::Call(SYS_waitid, P_PID, process, &seen, kAny | WNOWAIT, nullptr) != 0) return false;
    if (seen.si_code != CLD_TRAPPED && seen.si_code != CLD_STOPPED) return false;
    int status = 0;
    if (kernel::Wait(process, &status, __WALL) != process) return false;
    if (!WIFSTOPPED(status)) return false;
    if (!tracer->OnStop(process, status)) continue;
    Tracer::NoteStarted(process);
    kernel::Trace(PTRACE_CONT, process);
    return true;
  }
}

}  // namespace native_runner
