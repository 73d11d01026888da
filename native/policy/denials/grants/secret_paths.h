#pragma once

#include <array>
#include <string_view>

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

}  // namespace native_runner
