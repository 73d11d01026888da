#include "policy/denials/limit_denials.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>

#include "policy/denials/error_name.h"

namespace native_runner {
namespace {

std::optional<Denial> Reached(const std::string& name, const std::optional<std::uint64_t>& limit) {
  if (!limit) return std::nullopt;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53U;  // what JavaScript counts to
  Denial denial;
  denial.operation = name;
  denial.by = DeniedBy::kLimits;
  denial.grant = {.kind = Grant::Kind::kNumber,
                  .option = "limits." + name,
                  .number = *limit == 0 ? 1 : std::min(*limit, kMost / 2) * 2};
  return denial;
}

}  // namespace

std::optional<Denial> DenialOfEnd(const DeniedRun& run) {
  if (run.outcome.kind != OutcomeKind::kLimitExceeded) return std::nullopt;
  const Limits& limits = run.limits;
  const std::string& name = run.outcome.limit;
  if (name == "memoryBytes") return Reached(name, limits.memory_bytes);
  if (name == "cpuSeconds") return Reached(name, limits.cpu_seconds);
  if (name == "maxProcesses") return Reached(name, limits.max_processes);
  if (name == "maxOpenFiles") return Reached(name, limits.max_open_files);
  if (name == "maxFileBytes") return Reached(name, limits.max_file_bytes);
  return std::nullopt;
}

std::optional<Denial> DenialOfLimit(const Observation& observation, const Limits& limits) {
  std::optional<Denial> denial;
  const std::string& call = observation.call;
  const bool makes_process =
      call == "clone" || call == "fork" || call == "vfork" || call == "clone3";
  if (observation.error == EMFILE) {
    denial = Reached("maxOpenFiles", limits.max_open_files);
  } else if (observation.error == EAGAIN && makes_process) {
    denial = Reached("maxProcesses", limits.max_processes);
  } else if (observation.error == EFBIG) {
    denial = Reached("maxFileBytes", limits.max_file_bytes);
  } else if (observation.error == ENOMEM || observation.error == ENOSPC) {
    denial = Reached("memoryBytes", limits.memory_bytes);
  }
  if (!denial && observation.error == ETIME) {
    denial = Reached("cpuSeconds", limits.cpu_seconds);
  }
  if (!denial) return std::nullopt;
  denial->program = observation.program;
  // A command is not told that its time is up: it gets a signal.
  if (observation.error != ETIME) denial->error = ErrorName(observation.error);
  denial->count = observation.count;
  return denial;
}

}  // namespace native_runner
