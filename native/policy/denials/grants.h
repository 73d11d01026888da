#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "policy/denials/denials.h"
#include "policy/options/request.h"

namespace native_runner {

// Files that only root can read on common distributions. A command started by root is uid 0 too, so
// it could otherwise read them through a bound /etc.
inline constexpr std::array<std::string_view, 8> kSecretFiles = {
    "/etc/shadow",    "/etc/shadow-",     "/etc/gshadow",          "/etc/gshadow-",
    "/etc/sudoers",   "/etc/krb5.keytab", "/etc/security/opasswd",
    "/etc/.pwd.lock",  // a lock on it holds up the host's passwd(1), useradd(8) and the like
};
inline constexpr std::array<std::string_view, 6> kSecretDirectories = {
    "/etc/sudoers.d", "/etc/ssl/private",         "/etc/NetworkManager/system-connections",
    "/etc/wireguard", "/etc/letsencrypt/archive", "/etc/letsencrypt/accounts",
};
// The host's SSH keys as a pattern of glob(3), and how their paths begin.
inline constexpr const char* kHostKeys = "/etc/ssh/*_key";
inline constexpr std::string_view kHostKeysBefore = "/etc/ssh/ssh_host_";

// Returns why a host path must not be granted, as a clause; empty if it may be. `path` is real.
std::string WhyNotGrant(const std::string& path, bool is_write, bool is_directory,
                        const AdviceLists& lists);

// Returns the repository whose directory for a linked worktree or a submodule `path` is in; empty
// if it is in none. Git reads both, and looks there only as the `.git` of a working tree says so
// (gitrepository-layout(5)).
std::string RepositoryOf(const std::string& path);

// Reduces the grants of paths to as few as possible without granting more than needed: the
// directory if several of its own files are granted and the directory may be granted; a grant that
// another one covers is replaced by that one. For a path in RepositoryOf the repository is granted,
// if it may be.
void FindSmallestGrants(const AdviceLists& lists, std::vector<Denial>* denials);

}  // namespace native_runner
