#include "policy/denials/denials.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "policy/denials/file_denials.h"
#include "policy/denials/observation.h"
#include "policy/network/host_name.h"
#include "policy/text/path.h"
#include "policy/transaction/change.h"

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

namespace {

constexpr std::array<std::string_view, 5> kHomesOfOthers = {"/home", "/root", "/Users", "/var/home",
                                                            "/export/home"};
constexpr std::array<std::string_view, 11> kSystem = {"/bin",
                                                      "/boot",
                                                      "/etc",
                                                      "/lib",
                                                      "/lib64",
                                                      "/lib32",
                                                      "/sbin",
                                                      "/usr",
                                                      "/var/spool/cron",
                                                      "/var/lib/systemd",
                                                      "/opt/bin"};
constexpr std::array<std::string_view, 3> kNoMountPoints = {"/proc", "/dev", "/sys"};
// Sockets through which a command can make the host do anything.
constexpr std::array<std::string_view, 12> kControlSockets = {
    "docker.sock",  "podman.sock",    "containerd.sock", "crio.sock",
    "libvirt-sock", "lxd.socket",     "unix.socket",     "system_bus_socket",
    "snapd.socket", "ssh-agent.sock", "S.gpg-agent",     "keyring"};
constexpr std::array<std::string_view, 8> kKeyNames = {
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".env", ".netrc"};
constexpr std::array<std::string_view, 4> kKeyEnds = {".pem", ".key", ".p12", ".pfx"};

bool IsInAny(const auto& places, const std::string& path) {
  return std::any_of(places.begin(), places.end(),
                     [&path](std::string_view place) { return PathCovers(place, path); });
}

bool HoldsAny(const auto& places, const std::string& path) {
  return std::any_of(places.begin(), places.end(),
                     [&path](std::string_view place) { return PathCovers(path, place); });
}

bool IsKey(std::string_view name) {
  return std::find(kKeyNames.begin(), kKeyNames.end(), name) != kKeyNames.end() ||
         std::any_of(kKeyEnds.begin(), kKeyEnds.end(),
                     [name](std::string_view end) { return name.ends_with(end); });
}

bool IsControl(std::string_view name) {
  return std::find(kControlSockets.begin(), kControlSockets.end(), name) != kControlSockets.end();
}

bool IsSecret(const std::string& path, const std::vector<std::string>& secrets) {
  return IsInAny(secrets, path) || IsInAny(kSecretFiles, path) ||
         IsInAny(kSecretDirectories, path) || path.starts_with(kHostKeysBefore) ||
         PathCovers("/run/secrets", path) || PathCovers("/var/run/secrets", path);
}

}  // namespace

std::string RepositoryOf(const std::string& path) {
  for (const std::string_view below : {"/.git/worktrees/", "/.git/modules/"}) {
    const std::size_t at = path.find(below);
    if (at != std::string::npos && at > 0) return path.substr(0, at) + "/.git";
  }
  return "";
}

std::string WhyNotGrant(const std::string& path, bool is_write, bool is_directory,
                        const AdviceLists& lists) {
  const std::string normal = NormalPath(path);
  const std::string name = normal.substr(normal.rfind('/') + 1);
  if (normal == "/") return "it is all of the host's files";
  if (IsInAny(kNoMountPoints, normal)) return "what is there is the machine's, not a file";
  if (HoldsAny(lists.homes, normal)) return "it has all of the home directory";
  if (IsSecret(normal, lists.secrets) || (!is_directory && IsKey(name))) {
    return "it holds keys, passwords or tokens";
  }
  if (IsControl(name)) return "who can use this socket controls the host";
  const bool holds_secrets =
      is_directory && (HoldsAny(kSecretFiles, normal) || HoldsAny(kSecretDirectories, normal));
  if (holds_secrets) return "it has secrets of the host's in it";
  const bool is_own = IsInAny(lists.homes, normal);
  if (!is_own && IsInAny(kHomesOfOthers, normal)) return "it is in another user's home directory";
  if (!is_write) return "";
  if (IsInAny(kSystem, normal)) return "the host itself runs and believes what is there";
  if (IsProtected(std::string_view(normal).substr(1), is_directory, lists.protected_names)) {
    return "the host runs what is there by itself";
  }
  return "";
}

namespace {

constexpr std::size_t kSeveral = 3;

bool IsPath(const Grant& grant) {
  return grant.kind == Grant::Kind::kMount || grant.kind == Grant::Kind::kPath;
}

// True if both grants are for files in the same directories, inside and outside.
bool IsSibling(const Grant& one, const Grant& other) {
  return IsPath(other) && one.option == other.option && one.writable == other.writable &&
         ParentOf(one.host_path) == ParentOf(other.host_path) &&
         ParentOf(one.guest_path) == ParentOf(other.guest_path);
}

bool Brings(const Grant& large, const Grant& small) {
  if (!IsPath(large) || large.kind != small.kind) return false;
  if (small.writable && !large.writable) return false;
  if (large.kind == Grant::Kind::kPath && large.option != small.option) return false;
  const std::string host = NormalPath(large.host_path);
  if (!PathCovers(host, small.host_path)) return false;
  if (large.kind == Grant::Kind::kPath) return true;
  const std::string rest = NormalPath(small.host_path).substr(host == "/" ? 0 : host.size());
  return SamePath(large.guest_path + rest, small.guest_path);
}

void GrantRepository(const AdviceLists& lists, Denial* denial) {
  const std::string repository = RepositoryOf(denial->grant.host_path);
  if (repository.empty() || denial->grant.host_path != denial->grant.guest_path) return;
  if (!WhyNotGrant(repository, denial->grant.writable, true, lists).empty()) return;
  denial->grant.host_path = denial->grant.guest_path = repository;
}

}  // namespace

void FindSmallestGrants(const AdviceLists& lists, std::vector<Denial>* denials) {
  const std::vector<Denial> before = *denials;
  for (Denial& denial : *denials) {
    if (!IsPath(denial.grant)) continue;
    if (denial.grant.kind == Grant::Kind::kMount) GrantRepository(lists, &denial);
    std::set<std::string> siblings;
    for (const Denial& other : before) {
      if (IsSibling(denial.grant, other.grant)) siblings.insert(other.grant.host_path);
    }
    const std::string directory = ParentOf(denial.grant.host_path);
    // The host's /tmp must not be mounted over the private one.
    const bool is_scratch = SamePath(directory, "/tmp") || SamePath(directory, "/var/tmp");
    if (siblings.size() < kSeveral || is_scratch) continue;
    if (!WhyNotGrant(directory, denial.grant.writable, true, lists).empty()) continue;
    denial.grant.host_path = directory;
    if (!denial.grant.guest_path.empty())
      denial.grant.guest_path = ParentOf(denial.grant.guest_path);
  }
  const std::vector<Denial> large = *denials;
  for (Denial& denial : *denials) {
    for (const Denial& other : large) {
      if (IsPath(denial.grant) && Brings(other.grant, denial.grant)) denial.grant = other.grant;
    }
  }
}

namespace {

constexpr std::string_view kPathPrefix = "PATH=";
constexpr std::size_t kMostNames = 32;
constexpr int kShellsNotFound = 127;

bool IsOfNames(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z') || std::string_view("_-.+").find(letter) < 4;
}

// Collects names, each once.
class Names {
 public:
  void Add(std::string_view name, const std::string& call, const std::string& program) {
    if (name.empty() || all_.size() >= kMostNames) return;
    if (!known_.emplace(name).second) return;
    Observation missing;
    missing.call = call;
    missing.kind = Observation::Kind::kExec;
    missing.error = ENOENT;
    missing.path = name;
    missing.program = program;
    all_.push_back(std::move(missing));
  }
  // Adds the words of a text that are no part of a path or of an assignment's name.
  void AddWords(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      if (!IsOfNames(text[at])) {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < text.size() && IsOfNames(text[end]))
        ++end;
      const bool is_path =
          (at > 0 && text[at - 1] == '/') || (end < text.size() && text[end] == '/');
      const bool is_assigned = end < text.size() && text[end] == '=';
      const bool is_option = text[at] == '-';
      if (!is_path && !is_assigned && !is_option) Add(text.substr(at, end - at), "execve", "");
      at = end;
    }
  }
  std::vector<Observation> Take() { return std::move(all_); }

 private:
  std::set<std::string, std::less<>> known_;
  std::vector<Observation> all_;
};

}  // namespace

std::vector<std::string> SearchPathOf(const std::vector<std::string>& environment) {
  std::vector<std::string> directories;
  for (const std::string& variable : environment) {
    if (!variable.starts_with(kPathPrefix)) continue;
    std::string_view rest = std::string_view(variable).substr(kPathPrefix.size());
    for (bool more = true; more;) {
      const std::size_t colon = rest.find(':');
      more = colon != std::string_view::npos;
      if (rest.starts_with('/')) directories.emplace_back(rest.substr(0, colon));
      if (more) rest.remove_prefix(colon + 1);
    }
  }
  return directories;
}

bool EndedAsMissing(const DeniedRun& run) {
  return run.outcome.kind == OutcomeKind::kNotFound ||
         (run.outcome.kind == OutcomeKind::kExited && run.outcome.exit_code == kShellsNotFound);
}

std::vector<Observation> MissingPrograms(const DeniedRun& run) {
  Names names;
  if (run.outcome.kind == OutcomeKind::kNotFound && !run.argv.empty()) {
    names.Add(run.argv.front(), "execve", "");
    return names.Take();
  }
  std::set<std::string> searched;
  for (const std::string& directory : SearchPathOf(run.environment))
    searched.insert(NormalPath(directory));
  for (const Observation& each : run.observations) {
    const bool is_look = each.kind == Observation::Kind::kExec || IsLookUp(each);
    if (!is_look || each.error != ENOENT || !each.path.starts_with('/')) continue;
    if (searched.contains(ParentOf(each.path)))
      names.Add(NameIn(each.path), each.call, each.program);
  }
  if (EndedAsMissing(run)) {
    for (const std::string& word : run.argv)
      names.AddWords(word);
  }
  return names.Take();
}

}  // namespace native_runner
