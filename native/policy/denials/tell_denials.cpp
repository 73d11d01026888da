#include "policy/denials/tell_denials.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>

#include "policy/denials/error_name.h"
#include "policy/denials/file_denials.h"
#include "policy/denials/grants/smallest_grants.h"
#include "policy/denials/limit_denials.h"
#include "policy/denials/network_denials.h"

namespace native_runner {
namespace {

constexpr const char* kNoOption = "no option opens the filter of system calls";
constexpr const char* kOtherProcess =
    "commands signal and trace nothing but their own processes, and no option lets them";

bool IsAlike(const Denial& one, const Denial& other) {
  const auto key = [](const Denial& denial) {
    return std::tie(denial.operation, denial.path, denial.host, denial.port, denial.program,
                    denial.error, denial.by);
  };
  return key(one) == key(other) && std::string_view(one.kind) == other.kind;
}

void Add(Denial denial, DenialLog* log) {
  const auto same = std::find_if(log->denials.begin(), log->denials.end(),
                                 [&](const Denial& each) { return IsAlike(each, denial); });
  if (same != log->denials.end()) {
    same->count += denial.count;
  } else if (log->denials.size() < kMostDenials) {
    log->denials.push_back(std::move(denial));
  } else {
    log->omitted += 1;
  }
}

Denial Bare(const Observation& observation, DeniedBy by, const char* why) {
  Denial denial;
  denial.operation = observation.call;
  denial.path = observation.path;
  denial.program = observation.program;
  denial.error = ErrorName(observation.error);
  denial.by = by;
  denial.count = observation.count;
  denial.not_advised = why;
  return denial;
}

// What the filter has refused. clone3(2) is told not to exist, and every C library goes on.
std::optional<Denial> DenialOfFilter(const Observation& observation, const DeniedRun& run) {
  if (observation.error == ENOSYS) return std::nullopt;
  if (auto denial = DenialOfSocket(observation, run)) return denial;
  return Bare(observation, DeniedBy::kSeccomp, kNoOption);
}

// Of processes: only Landlock keeps commands from what they can see.
std::optional<Denial> DenialOfProcess(const Observation& observation, const DeniedRun& run) {
  const bool is_confined = run.scene && run.scene->wall == DenialScene::Wall::kLandlock;
  const bool is_refused = observation.error == EPERM || observation.error == EACCES;
  if (!is_confined || !is_refused || observation.kind != Observation::Kind::kOther)
    return std::nullopt;
  return Bare(observation, DeniedBy::kLandlock, kOtherProcess);
}

// A port below 1024 in a sandbox of root's, which has no capability to it.
std::optional<Denial> DenialOfBind(const Observation& observation, const DeniedRun& run) {
  constexpr std::uint16_t kLeastFree = 1024;
  const bool is_low = observation.port != 0 && observation.port < kLeastFree;
  if (observation.error != EACCES || !is_low || !run.is_root || !run.scene) return std::nullopt;
  Denial denial = Bare(observation,
                       run.scene->wall == DenialScene::Wall::kLandlock   ? DeniedBy::kLandlock
                       : run.scene->wall == DenialScene::Wall::kFirejail ? DeniedBy::kFirejail
                                                                         : DeniedBy::kBubblewrap,
                       "commands have none of root's capabilities, and no option gives them any");
  denial.host = observation.address;
  denial.port = observation.port;
  return denial;
}

constexpr std::string_view kUnixPrefix = "unix:";

std::optional<Denial> DenialOf(const Observation& observation, const DeniedRun& run,
                               const FileDenials& files) {
  if (observation.by_filter) return DenialOfFilter(observation, run);
  if (auto limit = DenialOfLimit(observation, run.limits)) return limit;
  if (!run.explain) return std::nullopt;
  const bool is_unix = observation.address.starts_with(kUnixPrefix);
  if (observation.kind == Observation::Kind::kConnect && is_unix) {
    Observation at = observation;
    at.path = observation.address.substr(kUnixPrefix.size());
    return files.Tell(at);
  }
  if (observation.kind == Observation::Kind::kConnect) return DenialOfSocket(observation, run);
  if (observation.kind == Observation::Kind::kBind) return DenialOfBind(observation, run);
  if (observation.kind == Observation::Kind::kOther) return DenialOfProcess(observation, run);
  return files.Tell(observation);
}

// The program that is to be run.
bool IsMissing(const DeniedRun& run) {
  return run.explain && run.outcome.kind == OutcomeKind::kNotFound;
}

}  // namespace

const char* DeniedByName(DeniedBy by) {
  switch (by) {
    case DeniedBy::kBubblewrap:
      return "bubblewrap";
    case DeniedBy::kLandlock:
      return "landlock";
    case DeniedBy::kFirejail:
      return "firejail";
    case DeniedBy::kSeccomp:
      return "seccomp";
    case DeniedBy::kNetwork:
      return "network";
    case DeniedBy::kLimits:
      break;
  }
  return "limits";
}

bool NeedsLook(const DeniedRun& run) {
  return run.explain && (!run.observations.empty() || IsMissing(run));
}

DenialLog TellDenials(const DeniedRun& run, const LookAtHostPath& look) {
  DenialLog log;
  log.omitted = run.observations_omitted;
  const Probes probes(run);
  const FileDenials files(run, probes, look);
  for (const Observation& observation : run.observations) {
    if (auto denial = DenialOf(observation, run, files)) Add(std::move(*denial), &log);
  }
  if (IsMissing(run) && log.denials.empty() && !run.argv.empty()) {
    if (auto denial = files.TellProgram(run.argv.front())) Add(std::move(*denial), &log);
  }
  if (run.connections != nullptr) {
    for (const ConnectionRecord& record : run.connections->connections) {
      if (auto denial = DenialOfConnection(record)) Add(std::move(*denial), &log);
    }
  }
  const auto end = DenialOfEnd(run);
  const bool is_told = end && std::any_of(log.denials.begin(), log.denials.end(), [&](auto& each) {
                         return each.by == end->by && each.operation == end->operation;
                       });
  if (end && !is_told) Add(*end, &log);
  if (run.advice) FindSmallestGrants(*run.advice, &log.denials);
  return log;
}

}  // namespace native_runner
