#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/options/policy.h"
#include "policy/result.h"

namespace native_runner {

// Runs commands over a project. The host's root is read-only, some folders are writable at their
// own path, secrets are hidden, and files that run code by themselves (git hooks, dotfiles) can't
// be written.

// The options of a project runner. Immutable.
struct ProjectPolicy {
  std::string bwrap_path = "bwrap";
  std::vector<std::string> folders;    // writable; real paths, none inside another
  std::vector<std::string> projects;   // real paths in the folders; commands start in the first
  std::vector<std::string> secrets;    // absolute; existing ones can't be read
  std::vector<std::string> read_only;  // relative to each project; can be neither changed nor made
  Network network = Network::kDeny;
  std::shared_ptr<const NetworkPolicy> by_domain;  // kByDomain only
  bool host_proc = false;      // show the host's /proc, read-only: if no other can be mounted
  bool disable_userns = true;  // if bwrap supports it; the seccomp filter does it anyway
  std::string home;  // real path: can be written, and nothing of it reaches the host; "": like the
                     // root
  EnvironmentPolicy environment;
};

// In the placeholder of a `.git`: what commands see as `.git`, and make a repository in.
constexpr const char* kNewRepository = "native-runner-new";

// The host's state of a project when a run starts. Every path is real.
struct ProjectFacts {
  HostFacts host;                    // with the secrets of root and of the policy
  std::vector<std::string> scratch;  // /tmp, /var/tmp, /run: empty and private inside
  std::vector<std::string> shown;    // inside them, shown again read-only
  std::vector<std::string> pinned;   // directories above `protected_paths`
  std::vector<std::string> protected_paths;
  std::vector<std::string> placeholders;  // empty directories at protected paths that do not exist
  std::string home;                       // under an overlay of the launcher's; "": read-only
  std::vector<std::string> home_mounts;   // what the host has mounted in it
  int home_descriptor = -1;               // of the overlay; -1: its number is not known yet
  // Paths of `.git` where there is no repository: the directory kNewRepository in them shows there.
  std::vector<std::string> new_repositories;
};

// Returns kInvalidValue, naming the field.
std::optional<Error> CheckPolicy(const ProjectPolicy& policy);

// Plans a run. Folders are bound by the descriptors from `first_descriptor` on (-1: by path). A
// mount can't be renamed or removed from inside, so each directory above a protected path is a
// mount too: a command can't replace the .git that holds the protected hooks.
BubblewrapPlan PlanProject(const ProjectPolicy& policy, const ProjectFacts& facts,
                           int first_descriptor, std::uint64_t tmp_bytes);

// Stands for a protected path that does not exist while commands run, on the host and in the
// sandbox: an empty directory, or a regular file with a text.
struct PlaceholderForm {
  bool is_file = false;
  std::string_view text;       // of a file; a literal
  bool may_be_filled = false;  // a directory in which commands may make entries, which then stay
};

// Returns the form for a protected path, by its last component: a file where programs read a file,
// with a text that says the same to them as a missing one. A directory for all other names.
PlaceholderForm PlaceholderFormOf(std::string_view path);

}  // namespace native_runner
