#include "policy/options/policy.h"

#include <array>
#include <utility>

#include "policy/options/validate.h"
#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

std::string Field(std::size_t index, const char* name) {
  std::string field("mounts[");
  field += std::to_string(index);
  field += "].";
  field += name;
  return field;
}

Error Refused(std::size_t index, const std::string& wanted, const std::string& guest_path) {
  std::string message("Expected `");
  message += Field(index, "guestPath");
  message += "` to be ";
  message += wanted;
  message += ", got ";
  message += QuotedShort(guest_path);
  return {ErrorCode::kInvalidValue, std::move(message), ""};
}

// The sandbox's own paths: no mount may replace them, lie in them or hide them.
constexpr std::array kOwn = {"/proc", "/dev", kLauncherFile};

std::optional<Error> CheckPlace(const std::vector<HostMount>& mounts, std::size_t index,
                                const std::string& workspace) {
  const std::string& guest_path = mounts[index].guest_path;
  if (PathCovers(guest_path, workspace)) {
    return Refused(index, "a path that does not hide " + workspace, guest_path);
  }
  for (const char* own : kOwn) {
    if (!PathCovers(guest_path, own) && !PathCovers(own, guest_path)) continue;
    std::string wanted("a path neither in nor above ");
    wanted += own;
    return Refused(index, wanted, guest_path);
  }
  for (std::size_t i = 0; i < index; ++i) {
    if (!PathCovers(guest_path, mounts[i].guest_path)) continue;
    const bool is_same = SamePath(guest_path, mounts[i].guest_path);
    std::string wanted(is_same ? "another than" : "a path that does not hide");
    wanted += " `" + Field(i, "guestPath") + '`';
    return Refused(index, wanted, guest_path);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> CheckHostMounts(const std::vector<HostMount>& mounts,
                                     const std::string& workspace) {
  if (mounts.size() > kMostMounts) {
    return Error{ErrorCode::kInvalidValue,
                 "Expected `mounts` to be at most " + std::to_string(kMostMounts) +
                     " mounts, got " + std::to_string(mounts.size()),
                 ""};
  }
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const HostMount& mount = mounts[i];
    TRY(CheckPlainPath(mount.host_path, Field(i, "hostPath")));
    TRY(CheckPlainPath(mount.guest_path, Field(i, "guestPath")));
    TRY(CheckText(mount.label.value_or(""), Field(i, "label")));
    TRY(CheckPlace(mounts, i, workspace));
  }
  return std::nullopt;
}

std::string HostPathField(const std::vector<HostMount>& mounts, std::size_t index) {
  const auto& label = mounts[index].label;
  std::string field = Field(index, "hostPath");
  if (label) field.append(" (").append(QuotedShort(*label)).append(1, ')');
  return field;
}

const std::vector<std::string>& DefaultRoBinds() {
  static const std::vector<std::string> binds = {"/usr", "/bin", "/lib", "/lib64", "/etc"};
  return binds;
}

const std::vector<std::string>& DefaultReadDirs() {
  static const std::vector<std::string> dirs = {"/usr", "/lib",  "/lib64", "/etc",
                                                "/bin", "/sbin", "/tmp"};
  return dirs;
}

const std::vector<std::string>& DefaultWriteDirs() {
  static const std::vector<std::string> dirs = {"/tmp"};
  return dirs;
}

const std::vector<std::string>& DefaultFirejailReadDirs() {
  static const std::vector<std::string> dirs = {"/usr", "/lib", "/lib64", "/etc", "/bin", "/sbin"};
  return dirs;
}

bool CanBePrewarmed(const BubblewrapPolicy& policy) {
  return policy.isolation == Isolation::kStrict && policy.extra_args.empty();
}

}  // namespace native_runner
