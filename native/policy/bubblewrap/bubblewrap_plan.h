#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/options/home.h"
#include "policy/options/policy.h"
#include "policy/result.h"
#include "protocol/layer.h"

namespace native_runner {

// The features of the bwrap in use, read from its --help. Distributions back-port options, so the
// version number does not show them.
struct BwrapFeatures {
  bool bind_fd = false;
  bool disable_userns = false;
  bool as_pid_1 = false;
  bool size = false;
  bool perms = false;
};
BwrapFeatures ParseBwrapHelp(std::string_view help);

// One step of bwrap's own mount list, in order (bwrap(1)).
struct Mount {
  enum class Kind {
    kReadOnlyBind,  // --ro-bind source target (--ro-bind-fd when descriptor >= 0)
    kBind,          // --bind source target (--bind-fd when descriptor >= 0)
    kSymlink,       // --symlink source target
    kProc,
    kDev,              // --proc target, --dev target
    kDevice,           // --dev-bind source target: a character device
    kTmpfs,            // [--size N] --tmpfs target
    kEmpty,            // --perms 0555 --tmpfs target: an empty directory that can't be written to
    kDirectory,        // --dir target
    kRemountReadOnly,  // --remount-ro target
    kProgram,          // --perms 0555 --ro-bind-data descriptor target
    kText,             // [--perms 0444] --ro-bind-data descriptor target
    kHome,             // [--perms 0700] [--size N] --tmpfs target
    kFile,             // [--perms 0644] --file descriptor target; `source` is the text
    kCache,  // --bind-fd descriptor target: an overlay over `source` that the launcher has
             // made; in records --overlay-src source --tmp-overlay target
    kWord,   // source, unchanged: one of the caller's extra words
  };
  Kind kind = Kind::kReadOnlyBind;
  std::string source;
  std::string target;
  int descriptor = -1;
  std::uint64_t size_bytes = 0;            // kTmpfs: 0 = the kernel's default (half of memory)
  bool is_for_all = false;                 // kText, kFile: with --perms, so that others can read it
  bool is_for_owner = false;               // kHome: with --perms, so that others can't look into it
  std::optional<std::size_t> number = {};  // index in the policy's mounts; nullopt: not one of them
  bool operator==(const Mount&) const = default;
};

// Returns a step that has no source.
inline Mount OnTarget(Mount::Kind kind, const std::string& target) {
  return {.kind = kind, .source = "", .target = target};
}

// bwrap's options that are not mounts. Plain data: each one that is set is emitted.
struct Hardening {
  bool die_with_parent = true;
  bool new_session = true;
  bool unshare_net = false;
  bool net_by_domain = false;   // bwrap is started in a network namespace that was made for it
  bool isolate = false;         // --unshare-user/-pid/-ipc/-uts/-cgroup, --cap-drop ALL
  bool disable_userns = false;  // --disable-userns: bwrap >= 0.8, needs isolate
  bool as_pid_1 = false;        // only if the command is the launcher, which reaps
  bool is_template = false;     // with isolate: leaves out what each clone makes for itself
};

struct BubblewrapPlan {
  Hardening hardening;
  std::vector<Mount> mounts;
  std::string chdir;            // empty: where bwrap was started, if that exists inside
  bool secrets_masked = false;  // the host's secrets were considered, even if none is mounted
};

// A file of the sandbox's own that directs name look-ups (bubblewrap_mounts.h), or by which
// programs trust a certificate authority.
struct NameFile {
  std::string path;  // the mount point inside, with all links followed
  std::string text;
  int descriptor = -1;
  std::shared_ptr<const std::string> trusted = nullptr;  // in the place of `text`: see TrustFile
  std::string link = "";  // another file that this one is a link to; it has no text then
  bool operator==(const NameFile&) const = default;
};

// The state of the host that a plan may depend on. All empty in the pure builder.
struct HostFacts {
  struct Link {
    std::string target;
    std::string path;
    bool operator==(const Link&) const = default;
  };
  bool operator==(const HostFacts&) const = default;
  std::vector<Link> links;           // roBinds that are symbolic links on the host (merged /usr);
                                     // target: the link's text or the real path, such that one step
                                     // leads to a real directory
  std::vector<std::string> missing;  // default roBinds that the host lacks
  std::string root;                  // its real path; empty: the sandbox shows the host's
  std::vector<Mount> root_mounts;    // what that root has, parents before what is in them
  std::vector<std::string> mounts;   // real host paths of the policy's mounts, one for each
  std::vector<Link> devices;         // nodes: path: inside; target: the real one on the host
  std::vector<std::string> device_parts;         // of /sys, shown read-only at their paths
  std::vector<std::string> secret_files;         // masked with /dev/null
  std::vector<std::string> secret_directories;   // masked with an empty tmpfs
  std::vector<std::string> unowned_directories;  // masked: programs refuse files of nobody there
  std::vector<NameFile> name_files;              // with a network by domain, or an own root
  std::vector<std::string> resolver_sockets;     // with it: sockets of the host's resolvers; masked
  bool is_root = false;                          // effective uid 0: /proc/sys would be writable
  bool bwrap_disable_userns = false;
  bool bwrap_bind_fd = false;
  bool bwrap_perms = false;
  std::shared_ptr<const HomeView> home;  // null: no home, no tools
  int git_config_descriptor = -1;        // of the text of its ~/.gitconfig
  int cache_descriptor = -1;             // of its first cache; the others follow
};

// Returns the policy's plan. The workspace is bound from `workspace` (a real path), by `descriptor`
// if it is >= 0 and facts.bwrap_bind_fd is set. `cwd` is absolute inside the sandbox. `tmp_bytes`
// caps the private tmpfs, 0 = no cap. The policy's mounts have the descriptors that follow the
// workspace's, in their order; those inside the workspace are mounted upon it. `launcher` is the
// descriptor of the launcher's image, which becomes kLauncherFile if the policy has no /proc. With
// strict isolation, mount points are made first and /, /dev and (for root) /proc are then remounted
// read-only, so that only /workspace (unless the policy says no), /tmp and /dev/shm can be written.
BubblewrapPlan PlanBubblewrap(const BubblewrapPolicy& policy, const HostFacts& facts,
                              const std::string& workspace, int descriptor, const std::string& cwd,
                              std::uint64_t tmp_bytes, int launcher = -1);

// Returns the pure builder's plan: the contract's flags, and nothing that depends on the host or
// the launcher.
BubblewrapPlan PlanPureBubblewrap(const BubblewrapPolicy& policy, const std::string& cwd);

// Returns the plan of a process sandbox: the contract's flags, then the
// caller's mounts.
BubblewrapPlan PlanProcessSandbox(const BubblewrapPolicy& policy, const std::vector<Mount>& mounts,
                                  const std::string& cwd);

// Sets the options for a network. Only a caller that makes the namespace for a network by domain
// may plan one. The pure builders can't, so they plan a denied network instead.
void PlanNetwork(Network network, Hardening* hardening);

// Returns bwrap's options for a plan, without the final "--" and command. Deterministic.
std::vector<std::string> BubblewrapOptions(const BubblewrapPlan& plan);

// Returns the layers that a plan asks bwrap for, in the order of audits.
std::vector<Layer> BubblewrapLayers(const BubblewrapPlan& plan);

// A plan whose sandboxes are cloned: the part that bwrap makes once for all of them, and the steps
// that each clone runs (protocol/order.h).
struct TemplatePlan {
  BubblewrapPlan plan;
  std::vector<std::string> steps;
};

// The ids that commands run as, and the steps of a network by domain, if any.
struct CloneFacts {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::string> network_steps;
};

// Gives each clone its own instance of the plan's file systems that have a state: proc, the tmpfs,
// the terminals of /dev. Returns kUnavailable with the reason, a clause, if the plan can't be
// cloned. Pure.
Result<TemplatePlan> PlanTemplate(const BubblewrapPlan& plan, const CloneFacts& facts);

// Bubblewrap around a process that the host starts itself, such as a WASM engine: a run's policy
// and options as a plain command line. Pure: looks nothing up on the host.

// The command that the host would start without a sandbox.
struct ProcessCommand {
  std::string cmd;
  std::vector<std::string> args;
  std::vector<HostMount> mounts;
};

struct ProcessSandboxPolicy {
  BubblewrapPolicy sandbox;  // shadow_dir is not used: the command's mounts define what is shown
  std::string cwd_label = "shadow-workspace";  // the process starts in the mount with this label
};

// Return kInvalidValue, naming the field, for an empty program, a path that is not absolute, or a
// NUL byte.
std::optional<Error> CheckPolicy(const ProcessSandboxPolicy& policy);
std::optional<Error> CheckCommand(const ProcessCommand& command);

// Returns `argument` with a mount's host path at its start replaced by the guest path. Matches
// whole components; the longest host path wins. Leaves an argument alone that only contains a path
// ("--dir=/host") or climbs out of the mount by "..".
std::string GuestArgument(std::string_view argument, const std::vector<HostMount>& mounts);

// Returns all words after bwrap's own name. With strict isolation the sandbox's /proc is read-only,
// because bwrap leaves /proc/sys writable for uid 0.
std::vector<std::string> ProcessSandboxArgs(const ProcessSandboxPolicy& policy,
                                            const ProcessCommand& command);

}  // namespace native_runner
