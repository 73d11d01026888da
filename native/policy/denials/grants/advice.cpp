#include "policy/denials/grants/advice.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "policy/changes/protected_path.h"
#include "policy/denials/grants/secret_paths.h"
#include "policy/text/path.h"

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
// By which whoever reaches them has the host do what they want.
constexpr std::array<std::string_view, 12> kControlSockets = {
    "docker.sock",  "podman.sock",    "containerd.sock", "crio.sock",
    "libvirt-sock", "lxd.socket",     "unix.socket",     "system_bus_socket",
    "snapd.socket", "ssh-agent.sock", "S.gpg-agent",     "keyring"};
constexpr std::array<std::string_view, 8> kKeyNames = {
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", ".env", ".netrc"};
constexpr std::array<std::string_view, 4> kKeyEnds = {".pem", ".key", ".p12", ".pfx"};

bool IsBelowAny(const auto& places, const std::string& path) {
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
  return IsBelowAny(secrets, path) || IsBelowAny(kSecretFiles, path) ||
         IsBelowAny(kSecretDirectories, path) || path.starts_with(kHostKeysBefore) ||
         PathCovers("/run/secrets", path) || PathCovers("/var/run/secrets", path);
}

}  // namespace

std::string WhyNotGrant(const std::string& path, bool is_write, bool is_directory,
                        const AdviceLists& lists) {
  const std::string normal = NormalPath(path);
  const std::string name = normal.substr(normal.rfind('/') + 1);
  if (normal == "/") return "it is all of the host's files";
  if (IsBelowAny(kNoMountPoints, normal)) return "what is there is the machine's, not a file";
  if (HoldsAny(lists.homes, normal)) return "it has all of the home directory";
  if (IsSecret(normal, lists.secrets) || (!is_directory && IsKey(name))) {
    return "it holds keys, passwords or tokens";
  }
  if (IsControl(name)) return "who can use this socket controls the host";
  const bool holds_secrets =
      is_directory && (HoldsAny(kSecretFiles, normal) || HoldsAny(kSecretDirectories, normal));
  if (holds_secrets) return "it has secrets of the host's in it";
  const bool is_own = IsBelowAny(lists.homes, normal);
  if (!is_own && IsBelowAny(kHomesOfOthers, normal))
    return "it is in another user's home directory";
  if (!is_write) return "";
  if (IsBelowAny(kSystem, normal)) return "the host itself runs and believes what is there";
  if (IsProtected(std::string_view(normal).substr(1), is_directory, lists.protected_names)) {
    return "the host runs what is there by itself";
  }
  return "";
}

}  // namespace native_runner
