#include "policy/denials/file_denials.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/denials/denials.h"
#include "policy/denials/observation.h"
#include "policy/text/path.h"
#include "protocol/order.h"

namespace native_runner {
namespace {

constexpr std::string_view kHomeVariable = "HOME=";

// Directories of the machine and its services, which the C library and many programs look at.
constexpr std::array<std::string_view, 5> kSystemPlaces = {"/proc", "/sys", "/run", "/var/run",
                                                           "/etc"};
constexpr std::array<std::string_view, 3> kCaches = {"/var/cache", "/var/lib/apt/lists",
                                                     "/var/log"};
constexpr std::array<std::string_view, 8> kLibraryEnds = {".so",  ".h",  ".hpp", ".py",
                                                          ".pyc", ".pm", ".a",   ".mo"};

bool IsBelowAny(const auto& places, const std::string& path) {
  return std::any_of(places.begin(), places.end(),
                     [&path](std::string_view place) { return PathCovers(place, path); });
}

constexpr std::array<std::string_view, 9> kLookUps = {"stat",       "lstat",    "newfstatat",
                                                      "statx",      "access",   "faccessat",
                                                      "faccessat2", "readlink", "readlinkat"};

// True if `list`, in the form of PATH, has `directory`.
bool HasDirectory(std::string_view list, std::string_view directory) {
  for (;;) {
    const std::size_t colon = list.find(':');
    if (list.substr(0, colon) == directory) return true;
    if (colon == std::string_view::npos) return false;
    list.remove_prefix(colon + 1);
  }
}

// True for files that runtimes leave for each other in temporary directories.
bool IsTraceOfOthers(const std::string& path) {
  for (const std::string_view place : {"/tmp/", "/var/tmp/", "/dev/shm/"}) {
    if (!path.starts_with(place)) continue;
    const std::string_view rest = std::string_view(path).substr(place.size());
    return rest.starts_with('.') || rest.starts_with("hsperfdata_");
  }
  return false;
}

}  // namespace

bool IsLookUp(const Observation& observation) {
  return std::find(kLookUps.begin(), kLookUps.end(), observation.call) != kLookUps.end();
}

std::string_view NameIn(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

Probes::Probes(const DeniedRun& run) : run_(run) {
  for (const std::string& word : run.argv)
    words_.append(1, '\n').append(word);
  words_.push_back('\n');
  if (run.advice) homes_ = run.advice->homes;
  for (const std::string& variable : run.environment) {
    if (variable.starts_with(kHomeVariable) && variable.size() > kHomeVariable.size() + 1) {
      homes_.push_back(variable.substr(kHomeVariable.size()));
    }
  }
}

bool Probes::IsNamed(std::string_view path) const {
  const std::string_view name = NameIn(path);
  if (name.size() < 2) return false;
  const std::string_view all = words_;
  const auto is_end = [&all](std::size_t at) {
    constexpr std::string_view kOfNames = "_-.";
    const char letter = at < all.size() ? all[at] : '\n';
    const bool is_letter = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                           (letter >= 'A' && letter <= 'Z');
    return !is_letter && kOfNames.find(letter) == std::string_view::npos;
  };
  for (std::size_t at = all.find(name); at != std::string_view::npos; at = all.find(name, at + 1)) {
    // The name must be a whole word with a path in front of it, not a name that a shell looks up:
    // "git" does not name /opt/git.
    const bool is_path = at > 0 && (all[at - 1] == '/' || name.starts_with('.'));
    if (is_path && is_end(at + name.size())) return true;
  }
  return false;
}

bool Probes::IsInHome(std::string_view path) const {
  return std::any_of(homes_.begin(), homes_.end(),
                     [path](const std::string& home) { return PathCovers(home, path); });
}

std::string Probes::HomeOf(const std::string& path) const {
  const auto found = std::find_if(homes_.begin(), homes_.end(), [&path](const std::string& home) {
    return PathCovers(home, path) || PathCovers(path, home);
  });
  return found == homes_.end() ? "" : *found;
}

// True below a home's dot files and directories, and for a home and the directories above it.
bool Probes::IsSettings(const std::string& path) const {
  return std::any_of(homes_.begin(), homes_.end(), [&path](const std::string& home) {
    if (PathCovers(path, home)) return true;
    if (!PathCovers(home, path)) return false;
    const std::size_t skip = NormalPath(home).size() + 1;
    const std::string rest = NormalPath(path);
    return rest.size() > skip && rest[skip] == '.';
  });
}

// True if one program looked for the same name in several directories.
bool Probes::IsSearch(const Observation& observation, const std::string& path) const {
  const std::string_view name = NameIn(path);
  const std::string parent = ParentOf(path);
  return std::any_of(
      run_.observations.begin(), run_.observations.end(), [&](const Observation& other) {
        return other.error == observation.error && other.program == observation.program &&
               NameIn(other.path) == name && ParentOf(other.path) != parent;
      });
}

// True for a directory that is searched for programs.
bool Probes::IsOnSearchPath(const std::string& path) const {
  constexpr std::string_view kPath = "PATH=";
  return std::any_of(run_.environment.begin(), run_.environment.end(),
                     [&](const std::string& each) {
                       return each.starts_with(kPath) &&
                              HasDirectory(std::string_view(each).substr(kPath.size()), path);
                     });
}

// True if a program looked at `path` on the way to a file below it (realpath(3)), or before it
// opened it.
bool Probes::IsOnTheWay(const std::string& path) const {
  const std::string parent = ParentOf(path);
  if (parent == "/" || path == "/var/tmp") return true;  // otherwise it would cover too many paths
  if (PathCovers("/dev", path)) return true;             // facts about the machine
  return std::any_of(
      run_.observations.begin(), run_.observations.end(), [&path](const Observation& other) {
        return SamePath(path, other.path) ? !IsLookUp(other) : PathCovers(path, other.path);
      });
}

bool Probes::IsProbe(const Observation& observation, const std::string& path,
                     bool is_directory) const {
  const bool is_look_up = IsLookUp(observation);
  if (is_look_up && IsOnTheWay(path)) return true;
  if (IsNamed(path) || !RepositoryOf(path).empty()) return false;
  if (IsBelowAny(kSystemPlaces, path) || IsBelowAny(kCaches, path) || IsSettings(path)) return true;
  if (IsOnSearchPath(path) || IsTraceOfOthers(path)) return true;
  const std::string_view name = NameIn(path);
  const bool is_library =
      std::any_of(kLibraryEnds.begin(), kLibraryEnds.end(),
                  [name](std::string_view end) { return name.ends_with(end); }) ||
      name.find(".so.") != std::string_view::npos;
  // A program that looks for directories to search looks at more than the first one.
  return is_library || (!(is_look_up && is_directory) && IsSearch(observation, path));
}

bool Probes::IsSideEffect(const std::string& path) const {
  if (IsNamed(path)) return false;
  const std::string_view name = NameIn(path);
  const bool is_compiled = path.find("/__pycache__") != std::string::npos || name.ends_with(".pyc");
  const bool is_machine = PathCovers("/proc", path) || PathCovers("/sys", path) ||
                          PathCovers("/run", path) || PathCovers("/var/run", path) ||
                          PathCovers("/dev", path);
  return is_compiled || is_machine || IsBelowAny(kCaches, path) || IsSettings(path);
}

namespace {

constexpr std::array<std::string_view, 15> kOfDirectories = {
    "mkdir",  "mkdirat",  "mknod",     "mknodat", "symlink",  "symlinkat", "link", "linkat",
    "rename", "renameat", "renameat2", "unlink",  "unlinkat", "rmdir",     "creat"};
constexpr std::string_view kMask = "/dev/null";  // of a file, see PlanMasks
constexpr std::string_view kNoCapabilities =
    "commands of root have none of root's capabilities, only what the file's mode allows: run the "
    "host as the file's owner, or give it to root with `chown`";

constexpr std::string_view kNoHome =
    "the sandbox has no home directory that programs may write: give the command one by HOME in "
    "`env`, such as a directory in the workspace or in /tmp";

// Where Nix and Guix keep all programs, readable by all. A program there needs others of them.
constexpr std::array<std::string_view, 2> kStores = {"/nix/store", "/gnu/store"};

// Under Landlock: what programs read about themselves, as for process.memoryUsage() of Node.
constexpr std::array<std::string_view, 4> kOwnFiles = {
    "/proc/self/stat", "/proc/self/statm", "/proc/self/status", "/proc/self/smaps_rollup"};
constexpr std::string_view kOthersProcess =
    "Landlock's rules name files that are there, so only the process that the run starts reads its "
    "own /proc/self, not those that it starts itself; /proc as a whole has the variables of all of "
    "the user's processes: run the program itself instead of a shell, or use Bubblewrap";
constexpr std::string_view kSharedMemory =
    "the shared memory of all of the user's programs is in /dev/shm, and Landlock can't give a run "
    "one of its own: use Bubblewrap, or name it in `fsReadDirs` and `fsWriteDirs`";

// Returns why no rule of Landlock's should open a path that commands do need; "": one may.
std::string_view WhyNoRule(const DenialScene& scene, const std::string& path) {
  if (scene.wall != DenialScene::Wall::kLandlock) return "";
  if (std::find(kOwnFiles.begin(), kOwnFiles.end(), path) != kOwnFiles.end()) return kOthersProcess;
  return PathCovers("/dev/shm", path) ? kSharedMemory : "";
}

bool IsBubblewrap(const DenialScene& scene) {
  return scene.wall == DenialScene::Wall::kBubblewrap || scene.wall == DenialScene::Wall::kProject;
}

const char* KindName(Observation::Kind kind) {
  switch (kind) {
    case Observation::Kind::kWrite:
      return "write";
    case Observation::Kind::kExec:
      return "exec";
    case Observation::Kind::kConnect:
      return "connect";
    case Observation::Kind::kRead:
      return "read";
    default:
      return "other";
  }
}

bool MakesFile(const Observation& observation) {
  const bool opens = observation.call.starts_with("open");
  return opens && (observation.argument & O_CREAT) != 0;
}

}  // namespace

bool ChangesDirectory(const Observation& observation) {
  return std::find(kOfDirectories.begin(), kOfDirectories.end(), observation.call) !=
         kOfDirectories.end();
}

FileDenials::FileDenials(const DeniedRun& run, const Probes& probes, const LookAtHostPath& look)
    : run_(run), probes_(probes), look_(look) {}

DeniedBy FileDenials::Wall() const {
  switch (run_.scene->wall) {
    case DenialScene::Wall::kLandlock:
      return DeniedBy::kLandlock;
    case DenialScene::Wall::kFirejail:
      return DeniedBy::kFirejail;
    default:
      return DeniedBy::kBubblewrap;
  }
}

std::optional<FileDenials::Place> FileDenials::PlaceOf(const std::string& path) const {
  Place place;
  if (!IsBubblewrap(*run_.scene)) {
    const HostLookup host = look_(path);
    place.path = NormalPath(path);
    place.host = place.path;
    place.is_shown = place.is_there = host.is_there();
    return place;
  }
  const auto inside = FollowInside(path, run_.scene->mounts, [this](const std::string& at) {
    const HostLookup host = look_(at);
    return HostEntry{.is_there = host.is_there() || !host.link.empty(), .link = host.link};
  });
  if (!inside) return std::nullopt;  // links form a circle: an error on the host too
  place.path = inside->path;
  place.is_shown = !inside->host.empty();
  place.is_there = place.is_shown && inside->is_there;
  place.host = place.is_shown ? inside->host : inside->path;
  // The commands' own home hides the user's, as an empty one does.
  const std::string& home = run_.scene->home;
  if (place.is_shown && !place.is_there && !home.empty() && PathCovers(home, place.host)) {
    place = {.path = inside->path, .host = inside->path};
  }
  if (place.host == kMask && !PathCovers("/dev", place.path)) {
    place = {.path = inside->path, .host = inside->path, .is_masked = true};
  }
  return place;
}

bool FileDenials::IsLetBe(const Place& place, bool is_write) const {
  const std::vector<std::string>& rules = run_.scene->rules;
  const bool is_bubblewrap = IsBubblewrap(*run_.scene);
  if (rules.empty()) return is_bubblewrap;
  const std::string& path = is_bubblewrap ? place.path : place.host;
  return std::any_of(rules.begin(), rules.end(), [&](const std::string& rule) {
    const char kind = rule.front();
    const bool allows = kind == kRuleWrite || kind == kRuleDevice ||
                        (!is_write && (kind == kRuleRead || kind == kRuleReadEntry));
    return allows && PathCovers(std::string_view(rule).substr(1), path);
  });
}

bool FileDenials::HostAllows(const Observation& observation, const std::string& host,
                             bool makes) const {
  const HostLookup at = look_(host);
  if (observation.kind == Observation::Kind::kWrite) {
    if (ChangesDirectory(observation) || (makes && !at.is_there())) {
      const HostLookup above = look_(ParentOf(host));
      return above.type == HostLookup::Type::kDirectory && above.writable;
    }
    return at.is_there() && at.writable;
  }
  if (!at.is_there()) return false;
  if (observation.kind == Observation::Kind::kExec) return at.executable;
  if (observation.kind == Observation::Kind::kConnect) return at.writable;
  return observation.call == "chdir" ? at.executable : at.readable;
}

// True if `path` was searched along PATH and another directory of it has that program. A program
// that searches PATH asks for any entry with the name, even a directory.
bool FileDenials::IsFoundElsewhere(const Observation& observation, const std::string& path) const {
  const std::string name(NameIn(path));
  bool is_on_path = observation.kind == Observation::Kind::kExec;
  bool is_found = false;
  for (const std::string& directory : SearchPathOf(run_.environment)) {
    const std::string candidate = JoinPath(directory, name);
    if (NormalPath(candidate) == NormalPath(path)) {
      is_on_path = is_on_path || observation.kind == Observation::Kind::kRead;
      continue;
    }
    const auto place = PlaceOf(candidate);
    is_found = is_found || (place && place->is_there && look_(place->host).executable &&
                            place->path != NormalPath(path));
  }
  return is_on_path && is_found;
}

std::optional<Denial> FileDenials::DenialOfAccess(const Observation& observation) const {
  if (!run_.scene || run_.scene->wall == DenialScene::Wall::kNone) return std::nullopt;
  const bool has_second = !observation.second_path.empty();
  if (has_second) {
    if (auto denial = DenialOfPath(observation, observation.second_path, false)) return denial;
  }
  return DenialOfPath(observation, observation.path, false);
}

std::optional<Denial> FileDenials::DenialOfPath(const Observation& observation,
                                                const std::string& path, bool is_wanted) const {
  if (!path.starts_with('/')) return std::nullopt;
  const bool is_write = observation.kind == Observation::Kind::kWrite;
  const bool makes = MakesFile(observation);
  const auto place = PlaceOf(path);
  if (!place) return std::nullopt;
  const bool is_bubblewrap = IsBubblewrap(*run_.scene);
  const bool is_refused = observation.error == EACCES || observation.error == EPERM;
  bool is_without_capabilities = false;
  switch (observation.error) {
    case EROFS:
      if (!is_write || run_.scene->wall == DenialScene::Wall::kLandlock) return std::nullopt;
      break;
    case ENOENT:
    case ENOTDIR:
      // If the host's file shows there, the host gave the error.
      if (is_bubblewrap && place->is_shown) return std::nullopt;
      if (run_.scene->wall == DenialScene::Wall::kLandlock) return std::nullopt;
      break;
    case EXDEV:
      if (run_.scene->wall != DenialScene::Wall::kLandlock) return std::nullopt;
      break;
    case EACCES:
    case EPERM:
      // The walls do not refuse an allowed path with these errors, so the cause is root's missing
      // capabilities or the host itself.
      if (place->is_masked || !IsLetBe(*place, is_write)) break;
      if (!run_.is_root) return std::nullopt;
      is_without_capabilities = true;
      break;
    default:
      return std::nullopt;
  }
  if (!HostAllows(observation, place->host, makes)) return std::nullopt;
  const std::string name = NormalPath(path);
  const bool is_directory = look_(place->host).type == HostLookup::Type::kDirectory;
  const bool is_by_the_way =
      is_write ? probes_.IsSideEffect(name) : probes_.IsProbe(observation, name, is_directory);
  const std::string_view why_no_rule = WhyNoRule(*run_.scene, name);
  if (is_by_the_way && !is_wanted && why_no_rule.empty()) return std::nullopt;
  if (IsFoundElsewhere(observation, name)) return std::nullopt;

  Denial denial;
  denial.kind = KindName(observation.kind);
  denial.operation = observation.call;
  denial.path = name;
  denial.host_path = place->host;
  denial.program = observation.program;
  denial.error = ErrorName(observation.error);
  denial.count = observation.count;
  denial.by =
      is_refused && is_bubblewrap && !run_.scene->rules.empty() ? DeniedBy::kLandlock : Wall();
  if (is_without_capabilities) {
    denial.not_advised = kNoCapabilities;
  } else if (!why_no_rule.empty()) {
    denial.not_advised = why_no_rule;
  } else {
    AddGrant(observation, *place, makes, &denial);
  }
  return denial;
}

bool FileDenials::RefusesWrite(int error, const Place& place) const {
  switch (error) {
    case EROFS:
      return run_.scene->wall != DenialScene::Wall::kLandlock;
    case ENOENT:
    case ENOTDIR:
      return run_.scene->wall != DenialScene::Wall::kLandlock && !place.is_shown;
    case EACCES:
    case EPERM:
      return !IsLetBe(place, true);
    default:
      return false;
  }
}

// A program that makes its home anew, as `mkdir -p` does, would find it on the host.
std::optional<Denial> FileDenials::DenialOfOwnWrite(const Observation& observation) const {
  const std::string& path = observation.path;
  if (!run_.scene || run_.scene->wall == DenialScene::Wall::kNone) return std::nullopt;
  if (observation.kind != Observation::Kind::kWrite || !path.starts_with('/')) return std::nullopt;
  const std::string home = probes_.HomeOf(NormalPath(path));
  const auto place = PlaceOf(path);
  if (home.empty() || !place || !RefusesWrite(observation.error, *place)) return std::nullopt;
  const HostLookup at = look_(home);
  if (at.type != HostLookup::Type::kDirectory || !at.writable) return std::nullopt;
  Denial denial;
  denial.kind = KindName(observation.kind);
  denial.operation = observation.call;
  denial.path = NormalPath(path);
  denial.host_path = place->host;
  denial.program = observation.program;
  denial.error = ErrorName(observation.error);
  denial.count = observation.count;
  denial.by = Wall();
  denial.not_advised = kNoHome;
  return denial;
}

std::optional<Denial> FileDenials::DenialOfProgram(const Observation& missing) const {
  if (!run_.scene || run_.scene->wall == DenialScene::Wall::kNone) return std::nullopt;
  const std::string& name = missing.path;
  if (name.find('/') != std::string::npos) return DenialOfPath(missing, name, true);
  const auto is_program = [this](const std::string& path) {
    const HostLookup host = look_(path);
    return host.type == HostLookup::Type::kFile && host.executable;
  };
  const std::vector<std::string> searched = SearchPathOf(run_.environment);
  for (const std::string& directory : searched) {
    Observation at = missing;
    at.path = JoinPath(directory, name);
    if (!is_program(at.path)) continue;
    if (auto denial = DenialOfPath(at, at.path, true)) return denial;
    if (const auto place = PlaceOf(at.path); place && place->is_there) return std::nullopt;
  }
  for (const HiddenTools& hidden : run_.scene->hidden) {
    Observation at = missing;
    at.path = JoinPath(hidden.path, name);
    if (!is_program(at.path)) continue;
    auto denial = DenialOfPath(at, at.path, true);
    if (denial) ShowHiddenTools(hidden, &*denial);
    return denial;
  }
  return std::nullopt;
}

// Programs are looked for in the directory only if it is shown as a whole.
void FileDenials::ShowHiddenTools(const HiddenTools& hidden, Denial* denial) const {
  if (denial->grant.kind != Grant::Kind::kMount) return;
  denial->not_advised =
      hidden.why.empty() ? WhyNotGrant(hidden.path, false, true, *run_.advice) : hidden.why;
  if (!denial->not_advised.empty()) {
    denial->grant = {};
    return;
  }
  denial->grant.host_path = hidden.path;
  denial->grant.guest_path = hidden.path;
}

// Returns the store of programs that holds this host path, empty if none does or commands see it.
std::string FileDenials::HiddenStoreOf(const std::string& path) const {
  for (const std::string_view store : kStores) {
    if (!PathCovers(store, path)) continue;
    const auto place = PlaceOf(path);
    if (place && !place->is_there) return std::string(store);
  }
  return "";
}

// Adds a grant for the file or, if it would have to be made, for its directory.
void FileDenials::AddGrant(const Observation& observation, const Place& place, bool makes,
                           Denial* denial) const {
  const bool is_write = observation.kind == Observation::Kind::kWrite;
  HostLookup at = look_(place.host);
  const bool wants_directory =
      is_write && (ChangesDirectory(observation) || (makes && !at.is_there()));
  std::string host = wants_directory ? ParentOf(place.host) : place.host;
  std::string guest = place.path;  // a mount can't be put on a link that shows there
  if (wants_directory) {
    guest = ParentOf(guest);
    at = look_(host);
  }
  const bool is_directory = at.type == HostLookup::Type::kDirectory;
  // The host may run by itself the file that is to be made there.
  if (wants_directory) denial->not_advised = WhyNotGrant(place.host, is_write, false, *run_.advice);
  if (const std::string home = probes_.HomeOf(host);
      wants_directory && denial->not_advised.empty() && !place.is_shown && !home.empty() &&
      PathCovers(host, home)) {
    denial->not_advised = kNoHome;
  }
  if (denial->not_advised.empty()) {
    denial->not_advised =
        WhyNotGrant(at.real.empty() ? host : at.real, is_write, is_directory, *run_.advice);
  }
  if (denial->not_advised.empty() && at.type == HostLookup::Type::kOther &&
      observation.kind != Observation::Kind::kConnect) {
    denial->not_advised = "it is no file and no directory, and can't be mounted";
  }
  if (!denial->not_advised.empty()) return;
  Grant& grant = denial->grant;
  switch (run_.scene->wall) {
    case DenialScene::Wall::kBubblewrap:
      if (const std::string& workspace = run_.scene->workspace_path; PathCovers(guest, workspace)) {
        if (is_write && SamePath(guest, workspace) && !run_.scene->may_write_workspace) {
          grant = {.kind = Grant::Kind::kBoolean, .option = "allowWriteWorkspace", .number = 1};
        } else {
          denial->not_advised = "nothing can be mounted above the workspace";
        }
        return;
      }
      if (const std::string& root = run_.scene->root;
          is_write && !root.empty() && PathCovers(root, host)) {
        denial->not_advised = "the root file system is for all runs, which never write it";
        return;
      }
      if (const std::string store = HiddenStoreOf(at.real); !is_write && !store.empty()) {
        host = store;
        guest = store;
      }
      grant = {.kind = Grant::Kind::kMount,
               .option = "mounts",
               .host_path = host,
               .guest_path = guest,
               .writable = is_write};
      return;
    case DenialScene::Wall::kProject:
      if (is_write && is_directory) {
        grant = {.kind = Grant::Kind::kPath, .option = "folders", .host_path = host};
      } else {
        denial->not_advised = is_write ? "only folders can be made writable"
                                       : "it is hidden as a secret, or as what is temporary";
      }
      return;
    case DenialScene::Wall::kLandlock:
    case DenialScene::Wall::kFirejail:
      if (is_write && PathCovers(run_.scene->workspace, host) && !run_.scene->may_write_workspace) {
        grant = {.kind = Grant::Kind::kBoolean, .option = "allowWriteWorkspace", .number = 1};
        return;
      }
      grant = {.kind = Grant::Kind::kPath,
               .option = is_write ? "fsWriteDirs" : "fsReadDirs",
               .host_path = host,
               .writable = is_write};
      return;
    case DenialScene::Wall::kNone:
      return;
  }
}

}  // namespace native_runner
