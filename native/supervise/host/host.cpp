#include "supervise/host/host.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "policy/denials/grants/secret_paths.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

std::string RealPathOrItself(const std::string& path) {
  std::array<char, PATH_MAX> resolved{};
  return realpath(path.c_str(), resolved.data()) == nullptr ? path : resolved.data();
}

// What the link `path` says, or empty.
std::string TextOf(const std::string& path) {
  std::array<char, PATH_MAX> text{};
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  return size <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(size));
}

// Whether the link leads to `real` in one step, along no other link.
bool LeadsStraight(const std::string& path, const std::string& real) {
  const std::string text = TextOf(path);
  return (text.starts_with('/') ? text : path.substr(0, path.rfind('/') + 1) + text) == real;
}

// How a link is to be made again: by its own text where that leads straight to the real directory
// (usr/bin for /bin), else by the real path.
std::string LinkText(const std::string& path, const std::string& real) {
  const std::string text = TextOf(path);
  return !text.empty() && "/" + text == real ? text : real;
}

constexpr std::size_t kMostPaths = 256;  // callers may name other roBinds in each runner

}  // namespace

Host::Kind Host::KindOf(const std::string& path) {
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
    if (real == path && facts.kind == Kind::kLink) {  // to nowhere, and who knows until when
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

// A secret behind a symbolic link is masked where it really is.
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
  facts.bwrap_disable_userns = features.disable_userns;
  for (const std::string& path : policy.ro_binds) {
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
  if (policy.isolation == Isolation::kStrict) {
    const Secrets& secrets = SecretsNow();
    facts.secret_files = secrets.files;
    facts.secret_directories = secrets.directories;
  }
  return facts;
}

}  // namespace native_runner
