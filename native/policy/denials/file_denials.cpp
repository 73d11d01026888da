#include "policy/denials/file_denials.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "policy/bubblewrap/inside_path.h"
#include "policy/denials/error_name.h"
#include "policy/denials/grants/advice.h"
#include "policy/options/workspace_path.h"
#include "policy/text/path.h"
#include "protocol/order.h"

namespace native_runner {
namespace {

constexpr std::array<std::string_view, 15> kOfDirectories = {
    "mkdir",  "mkdirat",  "mknod",     "mknodat", "symlink",  "symlinkat", "link", "linkat",
    "rename", "renameat", "renameat2", "unlink",  "unlinkat", "rmdir",     "creat"};
constexpr std::string_view kPathVariable = "PATH=";
constexpr std::string_view kMask = "/dev/null";  // of a file, see PlanMasks
constexpr std::string_view kNoCapabilities =
    "commands have none of root's capabilities, and no option gives them any";

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
  if (!inside) return std::nullopt;  // links in circles: an error of the host's too
  place.path = inside->path;
  place.is_shown = !inside->host.empty();
  place.is_there = place.is_shown && inside->is_there;
  place.host = place.is_shown ? inside->host : inside->path;
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

// Of a program that is looked for along PATH: another directory of it has one. Who looks for
// programs asks for whatever has the name, also where that is a directory.
bool FileDenials::IsFoundElsewhere(const Observation& observation, const std::string& path) const {
  const std::string name(NameIn(path));
  bool is_on_path = observation.kind == Observation::Kind::kExec;
  bool is_found = false;
  for (const std::string& variable : run_.environment) {
    if (!variable.starts_with(kPathVariable)) continue;
    std::string_view rest = std::string_view(variable).substr(kPathVariable.size());
    for (bool more = true; more;) {
      const std::size_t colon = rest.find(':');
      more = colon != std::string_view::npos;
      const std::string_view directory = rest.substr(0, colon);
      if (more) rest.remove_prefix(colon + 1);
      if (!directory.starts_with('/')) continue;
      const std::string candidate = JoinPath(directory, name);
      if (NormalPath(candidate) == NormalPath(path)) {
        is_on_path = is_on_path || observation.kind == Observation::Kind::kRead;
        continue;
      }
      const auto place = PlaceOf(candidate);
      is_found = is_found || (place && place->is_there && look_(place->host).executable &&
                              place->path != NormalPath(path));
    }
  }
  return is_on_path && is_found;
}

std::optional<Denial> FileDenials::Tell(const Observation& observation) const {
  if (!run_.scene || run_.scene->wall == DenialScene::Wall::kNone) return std::nullopt;
  const bool has_second = !observation.second_path.empty();
  if (has_second) {
    if (auto told = TellPath(observation, observation.second_path)) return told;
  }
  return TellPath(observation, observation.path);
}

std::optional<Denial> FileDenials::TellPath(const Observation& observation,
                                            const std::string& path) const {
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
      // Where it is the host's, the host has said so.
      if (is_bubblewrap && place->is_shown) return std::nullopt;
      if (run_.scene->wall == DenialScene::Wall::kLandlock) return std::nullopt;
      break;
    case EXDEV:
      if (run_.scene->wall != DenialScene::Wall::kLandlock) return std::nullopt;
      break;
    case EACCES:
    case EPERM:
      // The walls give no such error where they let the path be: there it is for want of root's
      // capabilities, or the host's own.
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
  if (is_write ? probes_.IsSideEffect(name) : probes_.IsProbe(observation, name, is_directory)) {
    return std::nullopt;
  }
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
  } else {
    AddGrant(observation, *place, makes, &denial);
  }
  return denial;
}

std::optional<Denial> FileDenials::TellProgram(const std::string& program) const {
  if (!run_.scene || run_.scene->wall == DenialScene::Wall::kNone) return std::nullopt;
  Observation observation;
  observation.call = "execve";
  observation.kind = Observation::Kind::kExec;
  observation.error = ENOENT;
  if (program.find('/') != std::string::npos) {
    observation.path = program;
    return Tell(observation);
  }
  for (const std::string& variable : run_.environment) {
    if (!variable.starts_with(kPathVariable)) continue;
    std::string_view rest = std::string_view(variable).substr(kPathVariable.size());
    for (bool more = true; more;) {
      const std::size_t colon = rest.find(':');
      more = colon != std::string_view::npos;
      const std::string_view directory = rest.substr(0, colon);
      if (more) rest.remove_prefix(colon + 1);
      if (!directory.starts_with('/')) continue;
      observation.path = JoinPath(directory, program);
      const HostLookup host = look_(observation.path);
      if (host.type != HostLookup::Type::kFile || !host.executable) continue;
      if (auto told = Tell(observation)) return told;
    }
  }
  return std::nullopt;
}

// The file itself, or where it would have to be made, the directory.
void FileDenials::AddGrant(const Observation& observation, const Place& place, bool makes,
                           Denial* denial) const {
  const bool is_write = observation.kind == Observation::Kind::kWrite;
  HostLookup at = look_(place.host);
  const bool wants_directory =
      is_write && (ChangesDirectory(observation) || (makes && !at.is_there()));
  std::string host = wants_directory ? ParentOf(place.host) : place.host;
  std::string guest = place.path;  // no mount can be put on a link that shows there
  if (wants_directory) {
    guest = ParentOf(guest);
    at = look_(host);
  }
  const bool is_directory = at.type == HostLookup::Type::kDirectory;
  // What is to be made there may be what the host runs by itself.
  if (wants_directory) denial->not_advised = WhyNotGrant(place.host, is_write, false, *run_.advice);
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
      if (PathCovers(guest, kWorkspace)) {
        if (is_write && SamePath(guest, kWorkspace) && !run_.scene->may_write_workspace) {
          grant = {.kind = Grant::Kind::kBoolean, .option = "allowWriteWorkspace", .number = 1};
        } else {
          denial->not_advised = "nothing can be mounted above the workspace";
        }
        return;
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
