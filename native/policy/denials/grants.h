#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "policy/denials/denials.h"
#include "policy/options/request.h"

namespace native_runner {

// Readable by root alone on common distributions; what a command, which is uid 0 too when we are,
// would otherwise read through a bound /etc.
inline constexpr std::array<std::string_view, 7> kSecretFiles = {
    "/etc/shadow",  "/etc/shadow-",     "/etc/gshadow",          "/etc/gshadow-",
    "/etc/sudoers", "/etc/krb5.keytab", "/etc/security/opasswd",
};
inline constexpr std::array<std::string_view, 6> kSecretDirectories = {
    "/etc/sudoers.d", "/etc/ssl/private",         "/etc/NetworkManager/system-connections",
    "/etc/wireguard", "/etc/letsencrypt/archive", "/etc/letsencrypt/accounts",
};
// The host's own SSH keys, as glob(3) finds them, and how they begin.
inline constexpr const char* kHostKeys = "/etc/ssh/*_key";
inline constexpr std::string_view kHostKeysBefore = "/etc/ssh/ssh_host_";

// Why a path of the host's is not to be granted, as a clause; empty: it may be. `path` is real.
std::string WhyNotGrant(const std::string& path, bool is_write, bool is_directory,
                        const AdviceLists& lists);

// Makes the grants of paths as few as they can be without being larger than what was asked for:
// the directory where several of its own files were, where that may be granted; and what another
// grant brings along is that one.
void FindSmallestGrants(const AdviceLists& lists, std::vector<Denial>* denials);

}  // namespace native_runner
