#include "policy/denials/probes.h"

#include <algorithm>
#include <array>

#include "policy/text/path.h"

namespace native_runner {
namespace {

constexpr std::string_view kHomeVariable = "HOME=";

// Of the machine and of its services: looked at by the C library and by many programs.
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

// It only looked whether something is there.
bool IsLookUp(const Observation& observation) {
  return std::find(kLookUps.begin(), kLookUps.end(), observation.call) != kLookUps.end();
}

// Whether a list as PATH is has it.
bool HasDirectory(std::string_view list, std::string_view directory) {
  for (;;) {
    const std::size_t colon = list.find(':');
    if (list.substr(0, colon) == directory) return true;
    if (colon == std::string_view::npos) return false;
    list.remove_prefix(colon + 1);
  }
}

// What runtimes leave of each other's in directories for what is temporary.
bool IsTraceOfOthers(const std::string& path) {
  for (const std::string_view place : {"/tmp/", "/var/tmp/", "/dev/shm/"}) {
    if (!path.starts_with(place)) continue;
    const std::string_view rest = std::string_view(path).substr(place.size());
    return rest.starts_with('.') || rest.starts_with("hsperfdata_");
  }
  return false;
}

}  // namespace

std::string_view NameIn(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

std::string ParentOf(std::string_view path) {
  const std::string normal = NormalPath(path);
  const std::size_t slash = normal.rfind('/');
  return slash == 0 ? "/" : normal.substr(0, slash);
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
    // As a whole word, and not only as what a shell would look up: "git" names no /opt/git.
    const bool is_path = at > 0 && (all[at - 1] == '/' || name.starts_with('.'));
    if (is_path && is_end(at + name.size())) return true;
  }
  return false;
}

bool Probes::IsInHome(std::string_view path) const {
  return std::any_of(homes_.begin(), homes_.end(),
                     [path](const std::string& home) { return PathCovers(home, path); });
}

// Below a home's dot files and directories, or a home and what is above it.
bool Probes::IsSettings(const std::string& path) const {
  return std::any_of(homes_.begin(), homes_.end(), [&path](const std::string& home) {
    if (PathCovers(path, home)) return true;
    if (!PathCovers(home, path)) return false;
    const std::size_t skip = NormalPath(home).size() + 1;
    const std::string rest = NormalPath(path);
    return rest.size() > skip && rest[skip] == '.';
  });
}

// The same name in several directories, by one program.
bool Probes::IsSearch(const Observation& observation, const std::string& path) const {
  const std::string_view name = NameIn(path);
  const std::string parent = ParentOf(path);
  return std::any_of(
      run_.observations.begin(), run_.observations.end(), [&](const Observation& other) {
        return other.error == observation.error && other.program == observation.program &&
               NameIn(other.path) == name && ParentOf(other.path) != parent;
      });
}

// A directory that is looked through for programs.
bool Probes::IsOnSearchPath(const std::string& path) const {
  constexpr std::string_view kPath = "PATH=";
  return std::any_of(run_.environment.begin(), run_.environment.end(),
                     [&](const std::string& each) {
                       return each.starts_with(kPath) &&
                              HasDirectory(std::string_view(each).substr(kPath.size()), path);
                     });
}

// Looked at by who goes down to another one (realpath(3)), or before it is opened.
bool Probes::IsOnTheWay(const std::string& path) const {
  const std::string parent = ParentOf(path);
  if (parent == "/" || path == "/var/tmp") return true;  // far more than anybody looks for
  if (PathCovers("/dev", path)) return true;             // what the machine is like
  return std::any_of(
      run_.observations.begin(), run_.observations.end(), [&path](const Observation& other) {
        return SamePath(path, other.path) ? !IsLookUp(other) : PathCovers(path, other.path);
      });
}

bool Probes::IsProbe(const Observation& observation, const std::string& path,
                     bool is_directory) const {
  const bool is_look_up = IsLookUp(observation);
  if (is_look_up && IsOnTheWay(path)) return true;
  if (IsNamed(path)) return false;
  if (IsBelowAny(kSystemPlaces, path) || IsBelowAny(kCaches, path) || IsSettings(path)) return true;
  if (IsOnSearchPath(path) || IsTraceOfOthers(path)) return true;
  const std::string_view name = NameIn(path);
  const bool is_library =
      std::any_of(kLibraryEnds.begin(), kLibraryEnds.end(),
                  [name](std::string_view end) { return name.ends_with(end); }) ||
      name.find(".so.") != std::string_view::npos;
  // Who looks for directories to search does not look for the first one alone.
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

}  // namespace native_runner
