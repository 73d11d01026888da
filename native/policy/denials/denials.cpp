#include "policy/denials/denials.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "policy/denials/file_denials.h"
#include "policy/denials/grants.h"
#include "policy/denials/missing_programs.h"
#include "policy/denials/observation.h"
#include "policy/network/host_port.h"

namespace native_runner {
namespace {

std::optional<Denial> Reached(const std::string& name, const std::optional<std::uint64_t>& limit) {
  if (!limit) return std::nullopt;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53U;  // JavaScript counts exactly up to it
  Denial denial;
  denial.operation = name;
  denial.by = DeniedBy::kLimits;
  denial.grant = {.kind = Grant::Kind::kNumber,
                  .option = "limits." + name,
                  .number = *limit == 0 ? 1 : std::min(*limit, kMost / 2) * 2};
  return denial;
}

// Returns the limit that ended a run, nullopt if none did.
std::optional<Denial> DenialOfEnd(const DeniedRun& run) {
  if (run.outcome.kind != OutcomeKind::kLimitExceeded) return std::nullopt;
  const Limits& limits = run.limits;
  const std::string& name = run.outcome.limit;
  if (name == "memoryBytes") return Reached(name, limits.memory_bytes);
  if (name == "cpuSeconds") return Reached(name, limits.cpu_seconds);
  if (name == "maxProcesses") return Reached(name, limits.max_processes);
  if (name == "maxOpenFiles") return Reached(name, limits.max_open_files);
  if (name == "maxFileBytes") return Reached(name, limits.max_file_bytes);
  if (name == "writeBytes") return Reached(name, limits.write_bytes);
  return std::nullopt;  // no grant gives a disk more room (reserveBytes)
}

// Returns the limit that made a call fail, nullopt if the run has no such limit.
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
  // A command that runs out of CPU time gets a signal, not an errno.
  if (observation.error != ETIME) denial->error = ErrorName(observation.error);
  denial->count = observation.count;
  return denial;
}

constexpr std::string_view kOfAuthorities =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:@";
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool IsName(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  const bool has_letter = std::any_of(last.begin(), last.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  });
  return has_letter && host.find(':') == std::string_view::npos;
}

bool IsLoopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

Grant AllowHost(const std::string& host, std::uint16_t port) {
  const bool is_usual = port == 0 || port == kHttpPort || port == kHttpsPort;
  return {.kind = Grant::Kind::kList,
          .option = "network.allow",
          .text = is_usual ? host : host + ":" + std::to_string(port)};
}

struct UrlHost {
  std::string host;
  std::uint16_t port = 0;
};

// Returns the host in the first URL of the command line.
UrlHost HostInWords(const std::vector<std::string>& argv) {
  for (const std::string& word : argv) {
    const std::size_t at = word.find("://");
    if (at == std::string::npos || at == 0) continue;
    std::string_view rest = std::string_view(word).substr(at + 3);
    rest = rest.substr(0, rest.find_first_not_of(kOfAuthorities));
    rest.remove_prefix(rest.find('@') == std::string_view::npos ? 0 : rest.find('@') + 1);
    const std::size_t colon = rest.find(':');
    UrlHost named{std::string(rest.substr(0, colon)), 0};
    unsigned port = 0;
    if (colon != std::string_view::npos) {
      for (const char digit : rest.substr(colon + 1)) {
        if (digit < '0' || digit > '9' || port > 65535) return {};
        port = port * 10 + static_cast<unsigned>(digit - '0');
      }
    }
    named.port = static_cast<std::uint16_t>(port);
    if (IsName(named.host) && port <= 65535) return named;
  }
  return {};
}

bool HasWord(const std::vector<std::string>& argv, std::string_view word) {
  constexpr std::string_view kBetween = " \t\n;&|'\"()";
  return std::any_of(argv.begin(), argv.end(), [word, kBetween](std::string_view text) {
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      const bool begins = at == 0 || kBetween.find(text[at - 1]) != std::string_view::npos;
      if (begins && (end == text.size() || kBetween.find(text[end]) != std::string_view::npos))
        return true;
    }
    return false;
  });
}

// True for look-ups that are no denial. npm always looks for a newer npm and does not need the
// answer; the C library asks the host's name servers for "localhost" too.
bool IsEventOrLocal(const std::string& program, const std::vector<std::string>& argv) {
  const auto has = [&argv](std::string_view word) { return HasWord(argv, word); };
  if (has("localhost")) return true;
  constexpr std::array<std::string_view, 14> kFetching = {
      "install", "ci",   "i",    "add",     "update", "upgrade", "exec",
      "audit",   "view", "info", "publish", "search", "ping",    "outdated"};
  return program.starts_with("npm") && std::none_of(kFetching.begin(), kFetching.end(), has);
}

Denial ModeDenied(const Observation& observation, DeniedBy by) {
  Denial denial;
  denial.kind = "connect";
  denial.operation = observation.call;
  denial.program = observation.program;
  denial.error = ErrorName(observation.error);
  denial.by = by;
  denial.count = observation.count;
  return denial;
}

// Returns the denial of a connection that the rules of a network by domain refused, nullopt if they
// allowed it.
std::optional<Denial> DenialOfConnection(const ConnectionRecord& record) {
  if (record.allowed) return std::nullopt;
  Denial denial;
  denial.kind = record.port == 0 ? "resolve" : "connect";
  denial.operation = record.port == 0 ? "dns" : "connect";
  denial.host = record.host;
  denial.port = record.port;
  denial.by = DeniedBy::kNetwork;
  denial.count = record.count;
  if (!record.rule.empty() && record.reason != kNoAnswer) {
    denial.not_advised = "a rule refuses it: " + record.rule;
  } else if (!record.address.empty()) {
    denial.not_advised = "it is at an address that `network.allowPrivate` alone can allow";
  } else if (!IsName(record.host)) {
    denial.not_advised = "it is an address, and hosts are allowed by name";
  } else {
    denial.grant = AllowHost(record.host, record.port);
  }
  return denial;
}

// Returns the denial of a connect(2) to an address, or of a socket(2), that the sandbox's network
// or the lack of one refused.
std::optional<Denial> DenialOfSocket(const Observation& observation, const DeniedRun& run) {
  if (!run.scene || run.scene->network == Network::kAllow) return std::nullopt;
  const bool has_own_network = run.scene->wall == DenialScene::Wall::kBubblewrap ||
                               run.scene->wall == DenialScene::Wall::kProject ||
                               run.scene->wall == DenialScene::Wall::kFirejail;
  if (!has_own_network) {
    // Landlock with the network denied: the filter refuses the calls that make sockets.
    if (!observation.by_filter || observation.error != EACCES) return std::nullopt;
    Denial denial = ModeDenied(observation, DeniedBy::kSeccomp);
    denial.grant = {.kind = Grant::Kind::kText, .option = "network", .text = "allow"};
    return denial;
  }
  const bool is_unreachable = observation.error == ENETUNREACH ||
                              observation.error == EHOSTUNREACH || observation.error == ENETDOWN ||
                              observation.error == EADDRNOTAVAIL;
  if (observation.kind != Observation::Kind::kConnect || !is_unreachable) return std::nullopt;
  // Port 0 is no connection: the C library connects to it to sort addresses.
  if (observation.port == 0 || IsLoopback(observation.address)) return std::nullopt;
  Denial denial = ModeDenied(observation, DeniedBy::kNetwork);
  denial.host = observation.address;
  denial.port = observation.port;
  const bool asks_name = observation.port == kDnsPort;
  if (asks_name && IsEventOrLocal(observation.program, run.argv)) return std::nullopt;
  if (asks_name) denial.kind = "resolve";
  const UrlHost named = HostInWords(run.argv);
  const bool can_name = run.scene->wall != DenialScene::Wall::kFirejail && !named.host.empty();
  if (asks_name && can_name) {
    denial.host = named.host;
    denial.port = named.port;
    denial.grant = AllowHost(named.host, named.port);
  } else if (run.scene->wall == DenialScene::Wall::kFirejail) {
    denial.grant = {.kind = Grant::Kind::kText, .option = "network", .text = "allow"};
  } else {
    denial.not_advised = asks_name
                             ? "which name it asked for is not known; `network.allow` takes names"
                             : "it is an address, and hosts are allowed by name";
  }
  return denial;
}

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

// Returns the denial of a call that the filter refused. For clone3(2) the filter returns ENOSYS and
// every C library falls back, so that is no denial.
std::optional<Denial> DenialOfFilter(const Observation& observation, const DeniedRun& run) {
  if (observation.error == ENOSYS) return std::nullopt;
  if (auto denial = DenialOfSocket(observation, run)) return denial;
  return Bare(observation, DeniedBy::kSeccomp, kNoOption);
}

// Returns the denial of a signal or trace. Only Landlock keeps a command from processes that it can
// see.
std::optional<Denial> DenialOfProcess(const Observation& observation, const DeniedRun& run) {
  const bool is_confined = run.scene && run.scene->wall == DenialScene::Wall::kLandlock;
  const bool is_refused = observation.error == EPERM || observation.error == EACCES;
  if (!is_confined || !is_refused || observation.kind != Observation::Kind::kOther)
    return std::nullopt;
  return Bare(observation, DeniedBy::kLandlock, kOtherProcess);
}

// Returns the denial of a port below 1024 in a sandbox started by root, which lacks the capability
// to bind it.
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
    return files.DenialOfAccess(at);
  }
  if (observation.kind == Observation::Kind::kConnect) return DenialOfSocket(observation, run);
  if (observation.kind == Observation::Kind::kBind) return DenialOfBind(observation, run);
  if (observation.kind == Observation::Kind::kOther) return DenialOfProcess(observation, run);
  return files.DenialOfAccess(observation);
}

// Adds the programs that were looked for in vain, unless their execution was denied already.
void AddMissingPrograms(const DeniedRun& run, const FileDenials& files, DenialLog* log) {
  for (const Observation& missing : MissingPrograms(run)) {
    auto denial = files.DenialOfProgram(missing);
    const auto is_same = [&denial](const Denial& each) { return each.path == denial->path; };
    if (denial && std::none_of(log->denials.begin(), log->denials.end(), is_same))
      Add(std::move(*denial), log);
  }
}

// True if the command says that it failed.
bool HasFailed(const Outcome& outcome) {
  return outcome.kind == OutcomeKind::kSignaled ||
         (outcome.kind == OutcomeKind::kExited && outcome.exit_code != 0);
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
  return run.explain && (!run.observations.empty() || EndedAsMissing(run));
}

DenialLog ReportDenials(const DeniedRun& run, const LookAtHostPath& look) {
  DenialLog log;
  log.omitted = run.observations_omitted;
  const Probes probes(run);
  const FileDenials files(run, probes, look);
  for (const Observation& observation : run.observations) {
    if (auto denial = DenialOf(observation, run, files)) Add(std::move(*denial), &log);
  }
  if (run.explain) AddMissingPrograms(run, files, &log);
  if (run.connections != nullptr) {
    for (const ConnectionRecord& record : run.connections->connections) {
      if (auto denial = DenialOfConnection(record)) Add(std::move(*denial), &log);
    }
  }
  const auto end = DenialOfEnd(run);
  const bool is_reported =
      end && std::any_of(log.denials.begin(), log.denials.end(), [&](auto& each) {
        return each.by == end->by && each.operation == end->operation;
      });
  if (end && !is_reported) Add(*end, &log);
  // Most programs do without what they write into their home. One that fails, of which nothing else
  // was denied, may not.
  if (run.explain && log.denials.empty() && HasFailed(run.outcome)) {
    for (const Observation& observation : run.observations) {
      if (observation.by_filter) continue;
      if (auto denial = files.DenialOfOwnWrite(observation)) Add(std::move(*denial), &log);
    }
  }
  if (run.advice) FindSmallestGrants(*run.advice, &log.denials);
  return log;
}

}  // namespace native_runner
