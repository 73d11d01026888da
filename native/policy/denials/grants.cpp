#include "policy/denials/grants.h"

#include <algorithm>
#include <set>

#include "policy/denials/file_denials.h"
#include "policy/text/path.h"
#include "policy/transaction/change.h"

namespace native_runner {
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

}  // namespace native_runner
