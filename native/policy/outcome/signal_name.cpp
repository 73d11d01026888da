#include <array>
#include <cstddef>

#include "policy/outcome/outcome.h"

namespace native_runner {
namespace {

// signal(7), the numbers of x86, Arm and the generic ABI; index 0 stands for signal 1.
constexpr std::array<const char*, 31> kNames = {
    "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",  "SIGFPE",
    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT",
    "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",  "SIGXCPU",
    "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};

// glibc and musl keep 32 and 33 (musl: 34 too) for themselves; names count from glibc's 34.
constexpr int kFirstRealTime = 34;
constexpr int kLastRealTime = 64;

}  // namespace

std::string SignalName(int signal) {
  if (signal >= 1 && signal <= static_cast<int>(kNames.size())) {
    return kNames[static_cast<std::size_t>(signal) - 1];
  }
  if (signal == kFirstRealTime) return "SIGRTMIN";
  if (signal > kFirstRealTime && signal <= kLastRealTime) {
    return "SIGRTMIN+" + std::to_string(signal - kFirstRealTime);
  }
  return "SIG" + std::to_string(signal);
}

}  // namespace native_runner
