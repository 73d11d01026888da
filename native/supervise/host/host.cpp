#include "supervise/host/host.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/denials/denials.h"
#include "policy/text/path.h"
#include "policy/text/text.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"
#include "supervise/os/mounts.h"

namespace native_runner {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// File systems take times from a clock that ticks every few milliseconds, remote ones from their
// own.
constexpr std::int64_t kSettledNs = 2 * kNsPerSecond;

}  // namespace

DirectoryStamps::Stamp DirectoryStamps::Take(const std::string& directory) {
  NotePath(directory);
  struct statx status {};
  if (statx(AT_FDCWD, directory.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO | STATX_CTIME,
            &status) != 0) {
    return {};
  }
  return {true, (status.stx_mode & S_IFMT) == S_IFLNK,
          (std::uint64_t{status.stx_dev_major} << 32U) | status.stx_dev_minor, status.stx_ino,
          status.stx_ctime.tv_sec * kNsPerSecond + status.stx_ctime.tv_nsec};
}

void DirectoryStamps::Add(const std::string& directory) {
  const bool known = std::any_of(entries_.begin(), entries_.end(), [&directory](const Entry& each) {
    return each.directory == directory;
  });
  if (known) return;
  const Stamp stamp = Take(directory);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t now_ns = now.tv_sec * kNsPerSecond + now.tv_nsec;
  trusted_ &= !stamp.link && stamp.changed_ns + kSettledNs <= now_ns;
  entries_.push_back({directory, stamp});
}

void DirectoryStamps::AddAbove(const std::string& path) {
  Add("/");
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    Add(path.substr(0, slash));
  }
}

bool DirectoryStamps::Unchanged() const {
  return trusted_ && std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
           return Take(entry.directory) == entry.stamp;
         });
}

namespace {

std::string RealPathOrItself(const std::string& path) {
  std::array<char, PATH_MAX> resolved{};
  return realpath(path.c_str(), resolved.data()) == nullptr ? path : resolved.data();
}

// Returns true if the link leads to `real` in one step, along no other link.
bool LeadsStraight(const std::string& path, const std::string& real) {
  const std::string text = ReadLink(AT_FDCWD, path).value_or("");
  return (text.starts_with('/') ? text : path.substr(0, path.rfind('/') + 1) + text) == real;
}

// Returns the text for an equal link: its own text if that leads straight to the real directory
// (usr/bin for /bin), else the real path.
std::string LinkText(const std::string& path, const std::string& real) {
  const std::string text = ReadLink(AT_FDCWD, path).value_or("");
  return !text.empty() && "/" + text == real ? text : real;
}

// In a sandbox of an ordinary user root's files are nobody's, since only one id is mapped. ssh ends
// if a file that its settings include is neither root's nor the user's.
constexpr std::array kOwnersMatter = {"/etc/ssh/ssh_config.d"};

constexpr std::size_t kMostPaths = 256;  // each runner may name other roBinds

}  // namespace

Host::Kind Host::KindOf(const std::string& path) {
  NotePath(path);
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) != 0) {
    return Kind::kMissing;
  }
  const unsigned type = status.stx_mode & S_IFMT;
  return type == S_IFLNK ? Kind::kLink : type == S_IFDIR ? Kind::kDirectory : Kind::kFile;
}

void Host::Refresh() {
  const uid_t before = std::exchange(euid_, geteuid());
  if (before == euid_ && paths_.size() <= kMostPaths && stamps_.Unchanged()) return;
  stamps_ = {};
  paths_.clear();
  secrets_.reset();
}

const Host::PathFacts& Host::FactsOf(const std::string& path) {
  if (const auto known = paths_.find(path); known != paths_.end()) return known->second;
  stamps_.AddAbove(path);
  PathFacts facts{KindOf(path), {}};
  if (facts.kind != Kind::kMissing) {
    const std::string real = RealPathOrItself(path);
    if (real == path && facts.kind == Kind::kLink) {  // dangling; its target may appear later
      facts.kind = Kind::kMissing;
      stamps_.Invalidate();
    } else if (real != path) {
      stamps_.AddAbove(real);
      if (!LeadsStraight(path, real)) stamps_.Invalidate();
      facts.link = LinkText(path, real);
    }
  }
  return paths_.emplace(path, std::move(facts)).first->second;
}

// Adds a secret at its real path, behind symbolic links.
void Host::AddSecret(const std::string& path) {
  stamps_.AddAbove(path);
  std::string real = path;
  Kind kind = KindOf(real);
  if (kind == Kind::kLink) {
    real = RealPathOrItself(real);
    stamps_.AddAbove(real);
    if (!LeadsStraight(path, real)) stamps_.Invalidate();
    kind = KindOf(real);
  }
  if (kind == Kind::kFile) secrets_->files.push_back(real);
  if (kind == Kind::kDirectory) secrets_->directories.push_back(real);
}

const Secrets& Host::SecretsNow() {
  if (secrets_) return *secrets_;
  secrets_.emplace();
  if (euid_ != 0) return *secrets_;
  for (const std::string_view path : kSecretFiles)
    AddSecret(std::string(path));
  for (const std::string_view path : kSecretDirectories)
    AddSecret(std::string(path));
  stamps_.AddAbove(kHostKeys);
  glob_t keys{};
  if (glob(kHostKeys, GLOB_NOSORT, nullptr, &keys) == 0) {
    for (std::size_t i = 0; i < keys.gl_pathc; ++i)
      AddSecret(keys.gl_pathv[i]);
  }
  globfree(&keys);
  return *secrets_;
}

Secrets Host::FindSecrets() {
  Refresh();
  return SecretsNow();
}

Result<HostFacts> Host::Look(const BubblewrapPolicy& policy, const BwrapFeatures& features) {
  Refresh();
  HostFacts facts;
  facts.bwrap_bind_fd = features.bind_fd;
  facts.bwrap_perms = features.perms;
  facts.bwrap_disable_userns = features.disable_userns && MayLimitUserNamespaces();
  for (const std::string& path : RoBindsOf(policy)) {
    const PathFacts& bind = FactsOf(path);
    if (bind.kind != Kind::kMissing) {
      if (!bind.link.empty()) facts.links.push_back({bind.link, path});
      continue;
    }
    if (policy.ro_binds_named) {
      return Error{ErrorCode::kSetup, "roBinds names \"" + path + "\", which this host lacks",
                   "remove it from roBinds, or create it"};
    }
    facts.missing.push_back(path);
  }
  facts.is_root = euid_ == 0;
  if (!facts.is_root && policy.isolation == Isolation::kStrict && !HasOwnRoot(policy)) {
    for (const char* path : kOwnersMatter) {
      if (FactsOf(path).kind == Kind::kDirectory) facts.unowned_directories.emplace_back(path);
    }
  }
  if (policy.isolation == Isolation::kStrict) {
    const Secrets& secrets = SecretsNow();
    facts.secret_files = secrets.files;
    facts.secret_directories = secrets.directories;
  }
  return facts;
}

namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10U;

// Sockets through which the C library and its modules ask other services than the servers of
// resolv.conf.
constexpr std::array kSockets = {
    "/run/systemd/resolve/io.systemd.Resolve", "/run/systemd/resolve/io.systemd.Resolve.Monitor",
    "/run/nscd/socket", "/run/avahi-daemon/socket", "/run/dbus/system_bus_socket"};

HostEntry EntryAt(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  if (size > 0) return {.is_there = true, .link = {text.data(), static_cast<std::size_t>(size)}};
  return {.is_there = size < 0 && errno == EINVAL, .link = {}};
}

// Returns the text of a file; empty if it can't be read or is too large.
std::string ContentsOf(const std::string& path) {
  auto file = path.empty() ? Result<Descriptor>(Descriptor())
                           : OpenPath(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file || !file->valid()) return "";
  std::string text(kMostBytes, '\0');
  const ssize_t size = read(file->get(), text.data(), text.size());
  text.resize(size > 0 && size < static_cast<ssize_t>(kMostBytes) ? static_cast<std::size_t>(size)
                                                                  : 0);
  return text;
}

std::string MachineName() {
  utsname names{};
  return uname(&names) == 0 ? names.nodename : "";
}

// Returns the text to use in place of `host`; nullopt: `host` may stay.
std::optional<std::string> OwnText(const std::string& path, const std::string& host,
                                   const NetworkRules& rules) {
  std::string own = path == kResolverFile ? ResolverText()
                    : path == kHostsFile  ? HostsText(MachineName())
                                          : SwitchText(host);
  const bool may_stay = own == host || (path == kHostsFile && NamesOnlyLoopback(host, rules));
  return may_stay ? std::nullopt : std::optional(std::move(own));
}

// Returns true if the path may lie in a bound directory, directly or through a link.
bool MayShow(const std::string& path, const std::vector<Mount>& mounts, const HostFacts& facts) {
  return std::any_of(mounts.begin(), mounts.end(),
                     [&path](const Mount& mount) { return PathCovers(mount.source, path); }) ||
         std::any_of(facts.links.begin(), facts.links.end(), [&path](const HostFacts::Link& link) {
           return PathCovers(LinkTarget(link.path, link.target), path);
         });
}

// Adds the files by which programs trust the host's own authority. Those that have to be there are
// links to others with the same text: a mount of a text takes bwrap longer.
std::optional<Error> FindTrustFiles(const TlsTermination& termination,
                                    const std::vector<Mount>& mounts, int next_descriptor,
                                    HostFacts* facts) {
  const bool makes_places = !facts->root.empty();
  std::map<std::string, std::shared_ptr<const std::string>> placed;
  const auto place = [&](std::string path, const TrustFile& file) {
    if (!placed.emplace(path, file.text).second) return;
    facts->name_files.push_back({.path = std::move(path),
                                 .text = "",
                                 .descriptor = next_descriptor++,
                                 .trusted = file.text,
                                 .link = ""});
  };
  const auto files = termination.trust->view();
  if (files == nullptr) return std::nullopt;  // lib tries what this host can do
  for (const TrustFile& file : *files) {
    if (file.is_own) continue;
    auto inside = FollowInside(file.path, mounts, EntryAt);
    const bool is_there = inside && !inside->host.empty() && inside->is_there;
    if (is_there && !inside->is_writable) place(std::move(inside->path), file);
  }
  for (const TrustFile& file : *files) {
    if (!file.is_own) continue;
    auto inside = FollowInside(file.path, mounts, EntryAt);
    const bool is_free = inside && (makes_places ? !inside->is_there : inside->host.empty());
    if (!is_free) {
      return Error{ErrorCode::kSetup, "the sandbox can't have " + file.path,
                   "secrets and rules for requests need a place for their certificates: show "
                   "nothing of the host there"};
    }
    const auto alike = std::find_if(placed.begin(), placed.end(), [&file](const auto& other) {
      return other.second == file.text;
    });
    if (alike == placed.end()) {
      place(std::move(inside->path), file);
    } else {
      facts->name_files.push_back(
          {.path = std::move(inside->path), .text = "", .descriptor = -1, .link = alike->first});
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> FindNameFiles(const NetworkPolicy& policy, const std::vector<Mount>& mounts,
                                   int first_descriptor, HostFacts* facts) {
  const bool makes_places = !facts->root.empty();
  for (const char* path : {kResolverFile, kHostsFile, kSwitchFile}) {
    auto inside = FollowInside(path, mounts, EntryAt);
    if (!inside || inside->is_writable) continue;
    const bool is_missing = !inside->host.empty() && !inside->is_there;
    if (is_missing && (!makes_places || path == kSwitchFile)) continue;
    std::optional<std::string> text = OwnText(path, ContentsOf(inside->host), policy.rules);
    if (!text) continue;
    facts->name_files.push_back({.path = std::move(inside->path),
                                 .text = std::move(*text),
                                 .descriptor = first_descriptor++});
  }
  for (const char* path : kSockets) {
    if (!MayShow(path, mounts, *facts)) continue;
    std::string real = RealPath(path);
    if (!real.empty()) facts->resolver_sockets.push_back(std::move(real));
  }
  if (!policy.termination) return std::nullopt;
  return FindTrustFiles(*policy.termination, mounts, first_descriptor, facts);
}

namespace {

constexpr const char* kUsersFile = "/etc/passwd";
constexpr const char* kGroupsFile = "/etc/group";

// Returns the name in a line NAME:PASSWORD:ID:… of passwd(5) or group(5); empty if none has the id.
std::string NameOfId(std::string_view text, std::string_view id) {
  while (!text.empty()) {
    std::string_view line = TakeUntil(&text, '\n');
    const std::string_view name = TakeUntil(&line, ':');
    TakeUntil(&line, ':');
    if (TakeUntil(&line, ':') == id) return std::string(name);
  }
  return "";
}

bool HasName(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = TakeUntil(&text, '\n');
    if (TakeUntil(&line, ':') == name) return true;
  }
  return false;
}

}  // namespace

void FindRootFiles(Network network, const std::vector<Mount>& mounts, int first_descriptor,
                   HostFacts* facts) {
  const auto add = [facts, &first_descriptor](std::string path, std::string text) {
    facts->name_files.push_back(
        {.path = std::move(path), .text = std::move(text), .descriptor = first_descriptor++});
  };
  if (network == Network::kAllow) {
    for (const char* path : {kResolverFile, kHostsFile}) {
      auto inside = FollowInside(path, mounts, EntryAt);
      std::string text = ContentsOf(path);
      if (inside && !inside->is_writable && !text.empty()) add(std::move(inside->path), text);
    }
  }
  const std::string uid = std::to_string(geteuid());
  const std::string gid = std::to_string(getegid());
  const auto complete = [&](const char* path, const std::string& id, const std::string& rest) {
    auto inside = FollowInside(path, mounts, EntryAt);
    if (!inside || inside->is_writable || !inside->is_there) return;
    std::string text = ContentsOf(inside->host);
    if (text.empty() || !NameOfId(text, id).empty()) return;
    std::string name = NameOfId(ContentsOf(path), id);
    if (name.empty() || HasName(text, name)) name = "user";
    if (!text.ends_with('\n')) text += '\n';
    text += name + ":x:" + id + ":" + rest + "\n";
    add(std::move(inside->path), std::move(text));
  };
  const std::string home = facts->home ? facts->home->path : "";
  complete(kUsersFile, uid, gid + "::" + (home.empty() ? "/" : home) + ":/bin/sh");
  complete(kGroupsFile, gid, "");
}

namespace {

constexpr const char* kMaxUserNamespaces = "/proc/sys/user/max_user_namespaces";

// Returns a file's text without the white space at its end; empty if it can't be read.
std::string TextAt(const std::string& path) {
  auto read = ReadText(path);
  if (!read) return "";
  std::string text = std::move(*read);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0'))
    text.pop_back();
  return text;
}

// getenv(3) is not safe beside setenv(3) on another thread; this copy is the kernel's, of the
// variables that the process was started with.
std::string VariableAtStart(std::string_view name) {
  const std::string all = TextAt("/proc/self/environ");
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    const std::string_view each = rest.substr(0, end);
    if (each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=') {
      return std::string(each.substr(name.size() + 1));
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return "";
}

bool Exists(const char* path) {
  return access(path, F_OK) == 0;
}

// Returns the kind of container that this process is in, empty outside of one.
std::string ContainerHere() {
  if (!VariableAtStart("KUBERNETES_SERVICE_HOST").empty()) return "kubernetes";
  if (Exists("/run/.containerenv")) return "podman";
  if (Exists("/.dockerenv")) return "docker";
  const std::string cgroup = TextAt("/proc/1/cgroup");
  for (const std::string_view kind : {"kubepods", "docker", "lxc", "containerd"}) {
    if (cgroup.find(kind) != std::string::npos) return std::string(kind);
  }
  return VariableAtStart("container");  // systemd's convention
}

// Returns the profile in a label as in proc_pid_attr(5), "NAME (MODE)", if it is enforced.
std::string EnforcedProfile(const std::string& label) {
  for (const std::string_view mode : {" (enforce)", " (kill)"}) {
    if (label.size() > mode.size() && label.ends_with(mode)) {
      return label.substr(0, label.size() - mode.size());
    }
  }
  return "";
}

// The kernel ignores a mount on this directory, which always is empty.
constexpr std::string_view kHarmless = "/proc/sys/fs/binfmt_misc";

void ReadMounts(SetupFacts* facts) {
  const auto table = ReadMountTable("/proc/self/mountinfo");
  if (!table) return;
  MountLines lines(table.value());
  while (const auto mount = lines.Next()) {
    if (mount->point == "/" && mount->root == "/newroot") facts->is_in_bwrap = true;
    if (facts->covered_proc.empty() && mount->point.starts_with("/proc/") &&
        mount->point != kHarmless) {
      facts->covered_proc = mount->point;
    }
  }
}

}  // namespace

SetupFacts ReadSetupFacts() {
  SetupFacts facts;
  facts.is_root = geteuid() == 0;
  facts.max_user_namespaces = TextAt(kMaxUserNamespaces);
  facts.unprivileged_userns = TextAt("/proc/sys/kernel/unprivileged_userns_clone");
  facts.apparmor_userns = TextAt("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  facts.container = ContainerHere();
  // Before Linux 5.1 all modules share one label, which may not be AppArmor's.
  facts.apparmor_profile = EnforcedProfile(TextAt("/proc/self/attr/apparmor/current"));
  ReadMounts(&facts);
  for (const std::string& process : {std::string("1"), std::to_string(getppid())}) {
    if (TextAt("/proc/" + process + "/comm") == "bwrap") facts.is_in_bwrap = true;
  }
  return facts;
}

bool MayLimitUserNamespaces() {
  struct statfs status {};
  return statfs(kMaxUserNamespaces, &status) == 0 && (status.f_flags & ST_RDONLY) == 0;
}

std::string SetupFix(const std::string& reason, std::string_view runtime,
                     const std::string& program) {
  std::string entry = EntryFix(reason, geteuid() == 0);
  if (!entry.empty() || runtime != "bubblewrap") return entry;
  return BubblewrapFix(reason, ReadSetupFacts(), program);
}

}  // namespace native_runner
