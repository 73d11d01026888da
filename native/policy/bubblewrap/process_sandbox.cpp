#include "policy/bubblewrap/process_sandbox.h"

#include <cstddef>

#include "policy/bubblewrap/bubblewrap_plan.h"
#include "policy/options/validate.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

// Returns "" for the root, so that "/" and a component can follow.
std::string AsPrefix(const std::string& path) {
  std::string normal = NormalPath(path);
  return normal == "/" ? std::string() : normal;
}

std::vector<Mount> PlanMounts(const std::vector<HostMount>& mounts) {
  std::vector<Mount> planned;
  planned.reserve(mounts.size());
  for (const HostMount& mount : mounts) {
    planned.push_back({.kind = mount.writable ? Mount::Kind::kBind : Mount::Kind::kReadOnlyBind,
                       .source = mount.host_path,
                       .target = mount.guest_path});
  }
  return planned;
}

std::string StartDirectory(const ProcessSandboxPolicy& policy,
                           const std::vector<HostMount>& mounts) {
  for (const HostMount& mount : mounts) {
    if (mount.label == policy.cwd_label) return mount.guest_path;
  }
  return "";
}

}  // namespace

std::optional<Error> CheckPolicy(const ProcessSandboxPolicy& policy) {
  const BubblewrapPolicy& sandbox = policy.sandbox;
  TRY(CheckProgram(sandbox.bwrap_path, "bwrapPath"));
  TRY(CheckAbsolutePaths(sandbox.ro_binds, "roBinds"));
  TRY(CheckPlainPath(sandbox.proc_path, "procPath"));
  TRY(CheckPlainPath(sandbox.dev_path, "devPath"));
  TRY(CheckPlainPath(sandbox.tmp_path, "tmpPath"));
  return CheckText(policy.cwd_label, "defaultCwdLabel");
}

std::optional<Error> CheckCommand(const ProcessCommand& command) {
  TRY(CheckPath(command.cmd, "cmd"));
  for (std::size_t i = 0; i < command.args.size(); ++i) {
    TRY(CheckText(command.args[i], "args[" + std::to_string(i) + "]"));
  }
  for (std::size_t i = 0; i < command.mounts.size(); ++i) {
    const std::string field = "mounts[" + std::to_string(i) + "].";
    const HostMount& mount = command.mounts[i];
    TRY(CheckPlainPath(mount.host_path, field + "hostPath"));
    TRY(CheckPlainPath(mount.guest_path, field + "guestPath"));
  }
  return std::nullopt;
}

std::string GuestArgument(std::string_view argument, const std::vector<HostMount>& mounts) {
  if (!argument.starts_with('/')) return std::string(argument);
  const HostMount* longest = nullptr;
  std::string host;
  for (const HostMount& mount : mounts) {
    std::string candidate = AsPrefix(mount.host_path);
    if (longest != nullptr && candidate.size() <= host.size()) continue;
    if (!argument.starts_with(candidate)) continue;
    const std::string_view rest = argument.substr(candidate.size());
    if (!rest.empty() && !rest.starts_with('/')) continue;
    if (!PathCovers(mount.host_path, argument)) continue;  // excludes "/host/../etc"
    longest = &mount;
    host = std::move(candidate);
  }
  if (longest == nullptr) return std::string(argument);
  std::string guest = AsPrefix(longest->guest_path);
  guest += argument.substr(host.size());
  return guest.empty() ? std::string(1, '/') : guest;
}

std::vector<std::string> ProcessSandboxArgs(const ProcessSandboxPolicy& policy,
                                            const ProcessCommand& command) {
  std::vector<std::string> args = BubblewrapOptions(PlanProcessSandbox(
      policy.sandbox, PlanMounts(command.mounts), StartDirectory(policy, command.mounts)));
  // bwrap's options end at the first word that does not start with "-".
  if (command.cmd.starts_with('-')) args.emplace_back("--");
  args.push_back(command.cmd);
  for (const std::string& argument : command.args)
    args.push_back(GuestArgument(argument, command.mounts));
  return args;
}

}  // namespace native_runner
