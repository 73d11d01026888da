#include "supervise/host.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <string>

namespace native_runner {
namespace {

// Readable by root alone on common distributions; what the command, which is uid 0 too when we are,
// would otherwise read through a bound /etc.
constexpr std::array kSecretFiles = {
    "/etc/shadow",  "/etc/shadow-",     "/etc/gshadow",          "/etc/gshadow-",
    "/etc/sudoers", "/etc/krb5.keytab", "/etc/security/opasswd",
};
constexpr std::array kSecretDirectories = {
    "/etc/sudoers.d", "/etc/ssl/private",         "/etc/NetworkManager/system-connections",
    "/etc/wireguard", "/etc/letsencrypt/archive", "/etc/letsencrypt/accounts",
};
constexpr const char* kHostKeys = "/etc/ssh/*_key";

enum class Kind { kMissing, kFile, kDirectory, kLink };

Kind KindOf(const std::string& path) {
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) != 0) {
    return Kind::kMissing;
  }
  const unsigned type = status.stx_mode & S_IFMT;
  return type == S_IFLNK ? Kind::kLink : type == S_IFDIR ? Kind::kDirectory : Kind::kFile;
}

std::string RealPath(const std::string& path) {
  std::array<char, PATH_MAX> resolved{};
  return realpath(path.c_str(), resolved.data()) == nullptr ? path : resolved.data();
}

// How a link is to be made again: by its own text where that leads straight to the real directory
// (usr/bin for /bin), else by the real path.
std::string LinkText(const std::string& path, const std::string& real) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  if (size <= 0) return real;
  std::string target(text.data(), static_cast<std::size_t>(size));
  return path.rfind('/') == 0 && "/" + target == real ? target : real;
}

// A secret behind a symbolic link is masked where it really is.
void AddSecret(const char* path, Secrets* secrets) {
  std::string real = path;
  Kind kind = KindOf(real);
  if (kind == Kind::kLink) {
    real = RealPath(real);
    kind = KindOf(real);
  }
  if (kind == Kind::kFile) secrets->files.push_back(real);
  if (kind == Kind::kDirectory) secrets->directories.push_back(real);
}

}  // namespace

Secrets FindSecrets() {
  Secrets secrets;
  if (geteuid() != 0) return secrets;
  for (const char* path : kSecretFiles)
    AddSecret(path, &secrets);
  for (const char* path : kSecretDirectories)
    AddSecret(path, &secrets);
  glob_t keys{};
  if (glob(kHostKeys, GLOB_NOSORT, nullptr, &keys) == 0) {
    for (std::size_t i = 0; i < keys.gl_pathc; ++i)
      AddSecret(keys.gl_pathv[i], &secrets);
  }
  globfree(&keys);
  return secrets;
}

Result<HostFacts> LookAtHost(const BubblewrapPolicy& policy, const BwrapFeatures& features) {
  HostFacts facts;
  facts.bwrap_bind_fd = features.bind_fd;
  facts.bwrap_disable_userns = features.disable_userns;
  for (const std::string& path : policy.ro_binds) {
    const Kind kind = KindOf(path);
    if (kind == Kind::kMissing) {
      if (policy.ro_binds_named) {
        return Error{ErrorCode::kSetup, "roBinds names \"" + path + "\", which this host lacks",
                     "remove it from roBinds, or create it"};
      }
      facts.missing.push_back(path);
      continue;
    }
    const std::string real = RealPath(path);
    if (real != path) facts.links.push_back({LinkText(path, real), path});
  }
  facts.is_root = geteuid() == 0;
  if (policy.isolation == Isolation::kStrict) {
    Secrets secrets = FindSecrets();
    facts.secret_files = std::move(secrets.files);
    facts.secret_directories = std::move(secrets.directories);
  }
  return facts;
}

}  // namespace native_runner
