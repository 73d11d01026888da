#include "supervise/host/setup_facts.h"

#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "supervise/os/file.h"
#include "supervise/os/mounts.h"

namespace native_runner {
namespace {

constexpr const char* kMaxUserNamespaces = "/proc/sys/user/max_user_namespaces";

// Returns a file's text without the white space at its end; empty if it can't be read.
std::string TextAt(const std::string& path) {
  auto read = ReadText(path);
  if (!read) return "";
  std::string text = std::move(*read);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0'))
    text.pop_back();
  return text;
}

// getenv(3) is not safe beside setenv(3) on another thread; this copy is the kernel's, of the
// variables that the process was started with.
std::string VariableAtStart(std::string_view name) {
  const std::string all = TextAt("/proc/self/environ");
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    const std::string_view each = rest.substr(0, end);
    if (each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=') {
      return std::string(each.substr(name.size() + 1));
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return "";
}

bool Exists(const char* path) {
  return access(path, F_OK) == 0;
}

// Returns the kind of container that this process is in, empty outside of one.
std::string ContainerHere() {
  if (!VariableAtStart("KUBERNETES_SERVICE_HOST").empty()) return "kubernetes";
  if (Exists("/run/.containerenv")) return "podman";
  if (Exists("/.dockerenv")) return "docker";
  const std::string cgroup = TextAt("/proc/1/cgroup");
  for (const std::string_view kind : {"kubepods", "docker", "lxc", "containerd"}) {
    if (cgroup.find(kind) != std::string::npos) return std::string(kind);
  }
  return VariableAtStart("container");  // systemd's convention
}

// Returns the profile in a label as in proc_pid_attr(5), "NAME (MODE)", if it is enforced.
std::string EnforcedProfile(const std::string& label) {
  for (const std::string_view mode : {" (enforce)", " (kill)"}) {
    if (label.size() > mode.size() && label.ends_with(mode)) {
      return label.substr(0, label.size() - mode.size());
    }
  }
  return "";
}

// The kernel ignores a mount on this directory, which always is empty.
constexpr std::string_view kHarmless = "/proc/sys/fs/binfmt_misc";

void ReadMounts(SetupFacts* facts) {
  const auto table = ReadMountTable("/proc/self/mountinfo");
  if (!table) return;
  MountLines lines(table.value());
  while (const auto mount = lines.Next()) {
    if (mount->point == "/" && mount->root == "/newroot") facts->is_in_bwrap = true;
    if (facts->covered_proc.empty() && mount->point.starts_with("/proc/") &&
        mount->point != kHarmless) {
      facts->covered_proc = mount->point;
    }
  }
}

}  // namespace

SetupFacts ReadSetupFacts() {
  SetupFacts facts;
  facts.is_root = geteuid() == 0;
  facts.max_user_namespaces = TextAt(kMaxUserNamespaces);
  facts.unprivileged_userns = TextAt("/proc/sys/kernel/unprivileged_userns_clone");
  facts.apparmor_userns = TextAt("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  facts.container = ContainerHere();
  // Before Linux 5.1 all modules share one label, which may not be AppArmor's.
  facts.apparmor_profile = EnforcedProfile(TextAt("/proc/self/attr/apparmor/current"));
  ReadMounts(&facts);
  for (const std::string& process : {std::string("1"), std::to_string(getppid())}) {
    if (TextAt("/proc/" + process + "/comm") == "bwrap") facts.is_in_bwrap = true;
  }
  return facts;
}

bool MayLimitUserNamespaces() {
  struct statfs status {};
  return statfs(kMaxUserNamespaces, &status) == 0 && (status.f_flags & ST_RDONLY) == 0;
}

std::string SetupFix(const std::string& reason, std::string_view runtime,
                     const std::string& program) {
  std::string entry = EntryFix(reason, geteuid() == 0);
  if (!entry.empty() || runtime != "bubblewrap") return entry;
  return BubblewrapFix(reason, ReadSetupFacts(), program);
}

}  // namespace native_runner
