#include <algorithm>
#include <string_view>
#include <utility>

#include "policy/bubblewrap/bubblewrap_argv.h"
#include "policy/bubblewrap/host_mounts.h"
#include "policy/bubblewrap/name_files.h"
#include "policy/bubblewrap/ro_binds.h"
#include "policy/options/workspace_path.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

Mount OnTarget(Mount::Kind kind, const std::string& target) {
  return {.kind = kind, .source = "", .target = target};
}

Mount Tmpfs(const std::string& target, std::uint64_t size_bytes) {
  Mount mount = OnTarget(Mount::Kind::kTmpfs, target);
  mount.size_bytes = size_bytes;
  return mount;
}

void AddPrivateMounts(std::vector<Mount>& mounts, const BubblewrapPolicy& policy,
                      std::uint64_t tmp_bytes) {
  if (policy.with_proc) mounts.push_back(OnTarget(Mount::Kind::kProc, policy.proc_path));
  if (policy.with_dev) mounts.push_back(OnTarget(Mount::Kind::kDev, policy.dev_path));
  mounts.push_back(Tmpfs(policy.tmp_path, tmp_bytes));
}

bool BindsRoot(const Mount& mount) {
  return mount.kind == Mount::Kind::kReadOnlyBind && SamePath(mount.target, "/");
}

void Append(std::vector<Mount>& to, const std::vector<Mount>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// The sandbox's own file systems, then the read-only binds in their order; but a bind of "/" comes
// first, since it would hide every mount made before it. Whether there was one.
bool AddSystemMounts(std::vector<Mount>& mounts, const std::vector<Mount>& binds,
                     const BubblewrapPolicy& policy, std::uint64_t tmp_bytes) {
  const auto root = std::find_if(binds.begin(), binds.end(), BindsRoot);
  if (root != binds.end()) mounts.push_back(*root);
  AddPrivateMounts(mounts, policy, tmp_bytes);
  for (const Mount& bind : binds) {
    if (!BindsRoot(bind)) mounts.push_back(bind);
  }
  return root != binds.end();
}

// From here on nothing but /workspace, /tmp and /dev/shm can be written; so the mount point of the
// workspace is made before. A host's "/" is bound read-only as it is and must bring /workspace.
void SealMounts(std::vector<Mount>& mounts, const std::vector<Mount>& binds, bool has_root_bind,
                const BubblewrapPolicy& policy, const HostFacts& facts, std::uint64_t tmp_bytes) {
  if (!has_root_bind) {
    mounts.push_back(OnTarget(Mount::Kind::kDirectory, kWorkspace));
    mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, "/"));
  }
  if (policy.with_dev) mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, "/dev"));
  bool shows_shm = !policy.with_dev;
  for (const Mount& bind : binds)
    shows_shm |= PathCovers("/dev/shm", bind.target);
  if (!shows_shm) mounts.push_back(Tmpfs("/dev/shm", tmp_bytes));
  // bwrap keeps /proc/sys writable for uid 0, also without capabilities.
  if (facts.is_root && policy.with_proc) {
    mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, "/proc"));
  }
}

}  // namespace

BubblewrapPlan PlanBubblewrap(const BubblewrapPolicy& policy, const HostFacts& facts,
                              const std::string& workspace, int descriptor, const std::string& cwd,
                              std::uint64_t tmp_bytes, int launcher) {
  const bool is_strict = policy.isolation == Isolation::kStrict;
  const std::uint64_t size_bytes = is_strict ? tmp_bytes : 0;  // document 1 has no --size
  BubblewrapPlan plan;
  plan.chdir = cwd;
  PlanNetwork(policy.network, &plan.hardening);
  plan.hardening.isolate = is_strict;
  plan.hardening.disable_userns = is_strict && facts.bwrap_disable_userns;
  plan.hardening.as_pid_1 = is_strict;
  plan.secrets_masked = is_strict && facts.is_root;

  const std::vector<Mount> binds = PlanRoBinds(policy, facts);
  const bool has_root_bind = AddSystemMounts(plan.mounts, binds, policy, size_bytes);
  if (plan.secrets_masked) Append(plan.mounts, PlanMasks(binds, facts));
  const HostMounts mounts =
      PlanHostMounts(policy, facts, facts.bwrap_bind_fd && descriptor >= 0 ? descriptor + 1 : -1);
  Append(plan.mounts, mounts.outside);
  if (plan.secrets_masked) Append(plan.mounts, PlanMasks(mounts.outside, facts));
  if (plan.hardening.net_by_domain) {
    HostFacts sockets;
    sockets.links = facts.links;
    sockets.secret_files = facts.resolver_sockets;
    Append(plan.mounts, PlanMasks(binds, sockets));
    Append(plan.mounts, PlanMasks(mounts.outside, sockets));
    Append(plan.mounts, PlanNameFiles(facts.name_files, facts.bwrap_perms));
  }
  for (const std::string& word : policy.extra_args)
    plan.mounts.push_back({.kind = Mount::Kind::kWord, .source = word, .target = ""});
  if (!policy.with_proc) {
    plan.mounts.push_back({.kind = Mount::Kind::kProgram,
                           .source = "",
                           .target = kLauncherFile,
                           .descriptor = launcher});
  }
  if (is_strict) SealMounts(plan.mounts, binds, has_root_bind, policy, facts, size_bytes);

  plan.mounts.push_back({.kind = Mount::Kind::kBind,
                         .source = workspace,
                         .target = kWorkspace,
                         .descriptor = facts.bwrap_bind_fd ? descriptor : -1});
  if (!policy.write_workspace) {
    plan.mounts.push_back(
        {.kind = Mount::Kind::kRemountReadOnly, .source = "", .target = kWorkspace});
  }
  Append(plan.mounts, mounts.in_workspace);
  if (plan.secrets_masked) Append(plan.mounts, PlanMasks(mounts.in_workspace, facts));
  return plan;
}

BubblewrapPlan PlanProcessSandbox(const BubblewrapPolicy& policy, const std::vector<Mount>& mounts,
                                  const std::string& cwd) {
  BubblewrapPlan plan;
  plan.chdir = cwd;
  plan.hardening.unshare_net = policy.network != Network::kAllow;
  plan.hardening.isolate = policy.isolation == Isolation::kStrict;
  AddSystemMounts(plan.mounts, PlanRoBinds(policy, {}), policy, 0);
  if (plan.hardening.isolate) {
    plan.mounts.push_back(OnTarget(Mount::Kind::kRemountReadOnly, policy.proc_path));
  }
  Append(plan.mounts, mounts);
  return plan;
}

BubblewrapPlan PlanPureBubblewrap(const BubblewrapPolicy& policy, const std::string& cwd) {
  BubblewrapPlan plan;
  plan.chdir = cwd;
  plan.hardening.unshare_net = policy.network != Network::kAllow;
  plan.hardening.isolate = policy.isolation == Isolation::kStrict;
  AddPrivateMounts(plan.mounts, policy, 0);
  for (const std::string& path : RoBindsOf(policy)) {
    plan.mounts.push_back({.kind = Mount::Kind::kReadOnlyBind, .source = path, .target = path});
  }
  const HostMounts mounts = PlanHostMounts(policy, {}, -1);
  Append(plan.mounts, mounts.outside);
  plan.mounts.push_back(
      {.kind = Mount::Kind::kBind, .source = policy.shadow_dir, .target = kWorkspace});
  Append(plan.mounts, mounts.in_workspace);
  return plan;
}

}  // namespace native_runner
