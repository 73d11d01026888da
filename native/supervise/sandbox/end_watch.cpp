#include "supervise/sandbox/end_watch.h"

#include <cstddef>
#include <string>
#include <utility>

#include "supervise/proc/proc_file.h"
#include "supervise/proc/process_facts.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostLookedAt = 1000;

// How often a process has gone to sleep: each time it has done something before.
std::uint64_t WaitsOf(pid_t process) {
  const auto numbers =
      NumbersInLine("/proc/" + std::to_string(process) + "/status", "voluntary_ctxt_switches:");
  return numbers.empty() ? 0 : numbers[0];
}

}  // namespace

EndWatch::Seen EndWatch::Look(int launcher) {
  const pid_t process = NumberOfPidfd(launcher);
  const auto facts = process == 0 ? std::nullopt : LookAtProcess(process);
  if (!facts) return Seen::kSilent;
  if (facts->is_dying) return Seen::kDying;
  for (const pid_t each : DescendantsOf(process, kMostLookedAt)) {
    const auto found = LookAtProcess(each);
    if (found && found->is_dying) return Seen::kDying;
  }
  const std::uint64_t steps = 1 + facts->cpu_ticks + WaitsOf(process);
  const bool has_moved = std::exchange(steps_, steps) != steps;
  if (facts->state == 'T' || facts->state == 't') return Seen::kSilent;
  return has_moved || facts->state == 'R' || facts->state == 'D' ? Seen::kWorking : Seen::kSilent;
}

}  // namespace native_runner
