#include "supervise/firejail_runtime.h"

#include <unistd.h>

#include <array>
#include <charconv>

#include "policy/workspace_path.h"
#include "supervise/workspace.h"

namespace native_runner {
namespace {

constexpr int kLauncherDescriptor = 5;  // beside the control socket, 3

constexpr const char* kInstall =
    "install Firejail (apt-get install firejail, dnf install firejail, pacman -S firejail, apk add "
    "firejail) or name its absolute path in firejailPath";

// The number of one of our namespaces, from "mnt:[4026531841]" (namespaces(7)).
std::uint64_t NamespaceNumber(const char* link) {
  std::array<char, 64> text{};
  const ssize_t size = readlink(link, text.data(), text.size());
  std::uint64_t number = 0;
  for (ssize_t i = 0; i < size; ++i) {
    if (text[static_cast<std::size_t>(i)] != '[') continue;
    std::from_chars(text.data() + i + 1, text.data() + size, number);
  }
  return number;
}

}  // namespace

std::vector<std::string> FirejailRuntime::Options() const {
  std::vector<std::string> options = {
      "--quiet", policy_.profile.empty() ? "--noprofile" : "--profile=" + policy_.profile,
      "--caps.drop=all", "--nonewprivs", "--keep-fd=3,5"};
  if (policy_.network == Network::kDeny) options.emplace_back("--net=none");
  options.insert(options.end(), policy_.extra_args.begin(), policy_.extra_args.end());
  options.emplace_back("--");
  return options;
}

RunRecord FirejailRuntime::Unprepared(const ExecRequest& request) const {
  RunRecord record{"firejail", policy_.firejail_path, Options(), policy_.shadow_dir, {}};
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  return record;
}

void FirejailRuntime::Prepare(const ExecRequest& request, Shared& shared, Ready ready) const {
  ready(Plan(request, shared));
}

Result<Preparation> FirejailRuntime::Plan(const ExecRequest& request, const Shared& shared) const {
  auto program = FindProgram(policy_.firejail_path, shared.programs->search_path());
  if (!program) {
    program.error().fix = kInstall;
    return program.error();
  }
  auto relative = WorkspaceRelative(request.cwd, "NativeRunner.exec");
  if (!relative) return relative.error();
  auto workspace = OpenWorkspace(policy_.shadow_dir);
  if (!workspace) return workspace.error();

  Preparation preparation;
  preparation.cwd = JoinPath(workspace->path, *relative);
  preparation.record = Unprepared(request);
  preparation.record.cwd = preparation.cwd;
  auto& layers = preparation.record.layers;
  layers = {"mount-namespace", "pid-namespace", "no-capabilities", "no-new-privs", "seccomp"};
  OrderHeader& order = preparation.order;
  order.flags = kOrderNoNewPrivs | kOrderSeccomp | kOrderNoCapabilities | kOrderOwnMountNamespace |
                kOrderOwnPidNamespace;
  order.mount_namespace = NamespaceNumber("/proc/self/ns/mnt");
  order.pid_namespace = NamespaceNumber("/proc/self/ns/pid");
  order.network_namespace = NamespaceNumber("/proc/self/ns/net");
  if (policy_.network == Network::kDeny) {
    order.flags |= kOrderOwnNetworkNamespace;
    layers.emplace_back("network-namespace");
  }
  if (auto error = ApplyLimits(request.limits, shared.cgroups, false, &preparation)) return *error;
  if (auto error = ApplyRequired(policy_.required, &preparation)) return *error;

  SpawnOrder& spawn = preparation.spawn;
  spawn.path = *program;
  spawn.argv = {"firejail"};
  for (std::string& option : Options())
    spawn.argv.push_back(std::move(option));
  spawn.argv.push_back("/proc/self/fd/" + std::to_string(kLauncherDescriptor));
  spawn.inherited.push_back({shared.launcher.get(), kLauncherDescriptor});
  return preparation;
}

}  // namespace native_runner
