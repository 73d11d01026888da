#include "policy/policy_text.h"

#include <algorithm>
#include <string_view>

#include "policy/bubblewrap/bubblewrap_mounts.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr std::string_view kVersionLine = "native-runner-policy 1\n";

void AddLine(std::string& text, std::string_view key, std::string_view value) {
  text += key;
  text += ' ';
  text += value;
  text += '\n';
}

void AddLines(std::string& text, std::string_view key, const std::vector<std::string>& values) {
  for (const std::string& value : values)
    AddLine(text, key, Quoted(value));
}

std::string_view ModeName(EnvironmentPolicy::Mode mode) {
  switch (mode) {
    case EnvironmentPolicy::Mode::kScrub:
      return "scrub";
    case EnvironmentPolicy::Mode::kInherit:
      return "inherit";
    case EnvironmentPolicy::Mode::kClean:
      return "clean";
    case EnvironmentPolicy::Mode::kNames:
      return "names";
  }
  return "";
}

// The names are a set: their order and repetitions do not matter.
void AddEnvironment(std::string& text, const EnvironmentPolicy& policy) {
  AddLine(text, "environment", ModeName(policy.mode));
  if (policy.mode != EnvironmentPolicy::Mode::kNames) return;
  std::vector<std::string> names = policy.names;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names)
    AddLine(text, "environment-name", Quoted(name));
}

void AddNetwork(std::string& text, Network network, const NetworkPolicy* by_domain) {
  if (network != Network::kByDomain) {
    return AddLine(text, "network", network == Network::kDeny ? "deny" : "allow");
  }
  AddLine(text, "network", "by-domain");
  if (by_domain != nullptr) text += NetworkPolicyText(*by_domain);
}

template <typename Policy>
void AddHome(std::string& text, const Policy& policy) {
  if (policy.home == Home::kPrivate) AddLine(text, "home", "private");
  if (policy.home == Home::kKept) AddLine(text, "home", "kept");
  if (policy.home == Home::kDirectory) AddLine(text, "home", Quoted(policy.home_directory));
  if (policy.tools == Tools::kHost) AddLine(text, "tools", "host");
  AddLines(text, "tool-path", policy.tool_paths);
  AddLines(text, "tool-exclude", policy.tool_excludes);
}

void AddCaches(std::string& text, const BubblewrapPolicy& policy) {
  if (policy.caches == Caches::kHost) AddLine(text, "caches", "host");
  AddLines(text, "cache", policy.cache_names);
}

}  // namespace

std::string HomeViewText(const HomeView& view) {
  std::string text;
  if (!view.root.empty()) AddLine(text, "shown-root", Quoted(view.root));
  for (const ShownPath& each : view.shown) {
    AddLine(text, "shown", Quoted(each.source) + ' ' + Quoted(each.target));
  }
  for (const ShownCache& each : view.caches) {
    AddLine(text, "shown-cache", Quoted(each.source) + ' ' + Quoted(each.target));
  }
  return text;
}

std::string PolicyText(const BubblewrapPolicy& policy) {
  std::string text(kVersionLine);
  AddLine(text, "runner", "bubblewrap");
  AddLine(text, "bwrap-path", Quoted(policy.bwrap_path));
  AddLine(text, "isolation", policy.isolation == Isolation::kStrict ? "strict" : "compat");
  AddNetwork(text, policy.network, policy.by_domain.get());
  // A missing default is skipped but a missing named bind is a failure, so the two policies differ.
  if (!policy.root_directory.empty()) AddLine(text, "root", Quoted(policy.root_directory));
  if (!policy.root_image.empty()) AddLine(text, "root-image", Quoted(policy.root_image));
  if (!HasOwnRoot(policy)) {
    AddLine(text, "ro-binds", policy.ro_binds_named ? "named" : "default");
    AddLines(text, "ro-bind", RoBindsOf(policy));
  }
  for (const HostMount& mount : policy.mounts) {
    AddLine(text, mount.writable ? "mount-rw" : "mount-ro",
            Quoted(mount.host_path) + ' ' + Quoted(mount.guest_path));
  }
  AddLines(text, "device", policy.devices);
  if (!policy.with_proc) AddLine(text, "proc", "no");
  if (!policy.with_dev) AddLine(text, "dev", "no");
  if (!policy.write_workspace) AddLine(text, "write-workspace", "no");
  if (policy.workspace_path != kWorkspace) AddLine(text, "workspace-path", "same");
  AddLines(text, "extra-arg", policy.extra_args);
  if (policy.with_landlock) AddLine(text, "landlock", "yes");
  AddLines(text, "required", policy.required);
  AddHome(text, policy);
  AddCaches(text, policy);
  AddEnvironment(text, policy.environment);
  return text;
}

std::string PolicyText(const ProjectPolicy& policy) {
  std::string text(kVersionLine);
  AddLine(text, "runner", "project");
  AddLine(text, "bwrap-path", Quoted(policy.bwrap_path));
  AddNetwork(text, policy.network, policy.by_domain.get());
  AddLine(text, "proc", policy.host_proc ? "host" : "private");
  if (!policy.disable_userns) AddLine(text, "disable-userns", "no");
  if (!policy.home.empty()) AddLine(text, "home", "copy-on-write");
  AddLines(text, "secret", policy.secrets);
  AddLines(text, "read-only", policy.read_only);
  AddEnvironment(text, policy.environment);
  return text;
}

std::string PolicyText(const LandlockPolicy& policy) {
  std::string text(kVersionLine);
  AddLine(text, "runner", "landlock");
  AddNetwork(text, policy.network, nullptr);
  AddLine(text, "read-dirs", policy.read_dirs_named ? "named" : "default");
  AddLines(text, "read-dir", policy.read_dirs);
  AddLine(text, "write-dirs", policy.write_dirs_named ? "named" : "default");
  AddLines(text, "write-dir", policy.write_dirs);
  AddLine(text, "read-workspace", policy.read_workspace ? "yes" : "no");
  AddLine(text, "write-workspace", policy.write_workspace ? "yes" : "no");
  AddLines(text, "device", policy.devices);
  AddLines(text, "required", policy.required);
  AddHome(text, policy);
  AddEnvironment(text, policy.environment);
  return text;
}

std::string PolicyText(const FirejailPolicy& policy) {
  std::string text(kVersionLine);
  AddLine(text, "runner", "firejail");
  AddLine(text, "firejail-path", Quoted(policy.firejail_path));
  AddLine(text, "profile", policy.profile ? Quoted(*policy.profile) : "none");
  AddLine(text, "read-dirs", policy.read_dirs_named ? "named" : "default");
  AddLines(text, "read-dir", policy.read_dirs);
  AddLines(text, "write-dir", policy.write_dirs);
  AddLines(text, "extra-arg", policy.extra_args);
  AddNetwork(text, policy.network, nullptr);
  AddLines(text, "required", policy.required);
  AddEnvironment(text, policy.environment);
  return text;
}

std::string PolicyText(const LocalPolicy& policy) {
  std::string text(kVersionLine);
  AddLine(text, "runner", "local");
  AddEnvironment(text, policy.environment);
  return text;
}

}  // namespace native_runner
