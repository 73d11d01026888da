#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/options/policy.h"
#include "policy/result.h"

namespace native_runner {

// Commands over a project: the host's root read-only, some folders of it writable at their own
// path, secrets hidden, and what runs code by itself (git hooks, dotfiles) kept from being written.

// What a project runner was made with. Immutable.
struct ProjectPolicy {
  std::string bwrap_path = "bwrap";
  std::vector<std::string> folders;    // real paths, none inside another: what is writable
  std::vector<std::string> projects;   // real paths in them; commands start in the first
  std::vector<std::string> secrets;    // absolute; of those that exist nothing can be read
  std::vector<std::string> read_only;  // relative to each project; neither changed nor made
  Network network = Network::kDeny;
  std::shared_ptr<const NetworkPolicy> by_domain;  // kByDomain only
  bool host_proc = false;      // show the host's /proc, read-only: where no other can be mounted
  bool disable_userns = true;  // as far as the bwrap at hand can; the seccomp filter does anyway
  EnvironmentPolicy environment;
};

// What the host has of it when a run starts; every path is real.
struct ProjectFacts {
  HostFacts host;                    // with secrets of root's and of the policy
  std::vector<std::string> scratch;  // /tmp, /var/tmp, /run: empty and private inside
  std::vector<std::string> shown;    // in them, shown again read-only
  std::vector<std::string> pinned;   // directories above `protected_paths`
  std::vector<std::string> protected_paths;
  std::vector<std::string> placeholders;  // empty directories in place of what is not there
};

// kInvalidValue, naming the field.
std::optional<Error> CheckPolicy(const ProjectPolicy& policy);

// Folders are bound by the descriptors from `first_descriptor` on (-1: by path). A mount can't be
// renamed or removed from inside, so what lies above a protected path is one too: nobody can put
// another .git in the place of the one with the protected hooks.
BubblewrapPlan PlanProject(const ProjectPolicy& policy, const ProjectFacts& facts,
                           int first_descriptor, std::uint64_t tmp_bytes);

}  // namespace native_runner
