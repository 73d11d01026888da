#pragma once

#include <string>
#include <string_view>

namespace native_runner {

// The facts of the host that decide whether bwrap can make a sandbox. A snapshot and plain value; a
// text is empty where the host has no such thing.
struct SetupFacts {
  bool is_root = false;             // effective uid 0
  bool is_in_bwrap = false;         // this process is in a sandbox of bwrap's
  std::string max_user_namespaces;  // user.max_user_namespaces
  std::string unprivileged_userns;  // kernel.unprivileged_userns_clone: Debian's kernels
  std::string apparmor_userns;      // kernel.apparmor_restrict_unprivileged_userns: Ubuntu's
  std::string container;            // such as "docker"
  std::string apparmor_profile;     // the enforced profile that confines this process
  std::string covered_proc;         // a path below /proc that another mount covers
};

// Returns what the operator can do about `reason`, a message of bwrap or about it; may have several
// lines; empty if unknown. `program`: bwrap's name or absolute path. Pure.
std::string BubblewrapFix(std::string_view reason, const SetupFacts& facts,
                          std::string_view program);

// Returns what the operator can do if `reason`, a message of the launcher or bwrap, is that root's
// commands may not enter a directory of another user; empty otherwise. Pure.
std::string EntryFix(std::string_view reason, bool is_root);

}  // namespace native_runner
