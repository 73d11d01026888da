#include "supervise/project/devices.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "policy/options/devices.h"
#include "policy/text/path.h"
#include "policy/text/text.h"
#include "protocol/order.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

constexpr const char* kAnother = "name a character device below /dev, or remove it from devices";

const char* NameOfDeviceType(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "is a directory";
    case S_IFREG:
      return "is a regular file";
    case S_IFIFO:
      return "is a FIFO";
    case S_IFSOCK:
      return "is a socket";
    case S_IFBLK:
      return "is a block device";
    default:
      return "is no character device";
  }
}

bool IsInGroup(gid_t group) {
  if (group == getegid()) return true;
  std::array<gid_t, 1024> groups{};
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  return std::find(groups.begin(), groups.begin() + std::max(count, 0), group) !=
         groups.begin() + std::max(count, 0);
}

// True if commands, which have no capabilities, can open the node in some way. For root the mode
// decides, as the host's own capabilities don't count inside.
bool CanOpen(int file, const struct stat& status) {
  if (geteuid() == 0) {
    unsigned shift = 0;
    if (status.st_uid == 0) {
      shift = 6;
    } else if (IsInGroup(status.st_gid)) {
      shift = 3;
    }
    return ((status.st_mode >> shift) & 6U) != 0;
  }
  const auto may = [file](int how) {
    constexpr long kFaccessat2 = 439;
    return syscall(kFaccessat2, file, "", how, AT_EACCESS | AT_EMPTY_PATH) == 0 || errno == ENOSYS;
  };
  return may(R_OK) || may(W_OK);
}

class DeviceLook {
 public:
  explicit DeviceLook(OpenedDevices* found) : found_(found) {}

  // `named`: the entry, as messages name it. `missing`: what to do if the host lacks the node.
  std::optional<Error> Open(const std::string& named, const std::string& path,
                            const std::string& missing) {
    const bool is_known =
        std::any_of(found_->nodes.begin(), found_->nodes.end(),
                    [&path](const OpenedDevice& each) { return SamePath(each.path, path); });
    if (is_known) return std::nullopt;
    const auto refused = [&named](const std::string& why, const std::string& fix) {
      return Error{ErrorCode::kSetup, named + ", which " + why, fix};
    };
    NotePath(path);
    OpenedDevice opened;
    opened.path = NormalPath(path);
    opened.file = Descriptor(open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!opened.file.valid()) {
      const bool is_missing = errno == ENOENT || errno == ENOTDIR;
      if (is_missing) return refused("this host lacks", missing);
      return refused(std::string("can't be opened: ") + std::strerror(errno), kAnother);
    }
    struct stat status {};
    if (fstat(opened.file.get(), &status) != 0) return SystemError("fstat", errno);
    TRY_ASSIGN(opened.real_path, PathOf(opened.file.get()));
    const std::string& real = opened.real_path;
    if (!PathCovers("/dev", real)) {
      return refused("leads to " + QuotedShort(real) + ", not below /dev", kAnother);
    }
    if (!S_ISCHR(status.st_mode)) return refused(NameOfDeviceType(status.st_mode), kAnother);
    if (const char* why = WhyRefused(major(status.st_rdev), minor(status.st_rdev), real)) {
      return refused(why, "remove it from devices");
    }
    if (!CanOpen(opened.file.get(), status)) {
      return refused("commands of this user can't open: its owner is user " +
                         std::to_string(status.st_uid) + ", group " + std::to_string(status.st_gid),
                     "add the user to the node's group, or change its mode (udev(7))");
    }
    opened.identity = {status.st_dev, status.st_ino};
    opened.is_ours = status.st_uid == geteuid();
    found_->nodes.push_back(std::move(opened));
    return std::nullopt;
  }

  std::optional<Error> OpenFamily(const std::string& named, const AskedFamily& asked) {
    const std::string missing =
        "load " + std::string(asked.family->driver) + ", or remove it from devices";
    for (const FamilyNode& node : asked.family->nodes) {
      const std::string path(node.path);
      if (path.ends_with('#')) {
        TRY(OpenNumbered(named, path.substr(0, path.size() - 1), asked.number, missing));
        continue;
      }
      if (node.may_lack && access(path.c_str(), F_OK) != 0) continue;
      TRY(Open(named + " with " + path, path, missing));
    }
    for (const std::string_view pattern : asked.family->parts)
      AddParts(std::string(pattern));
    return std::nullopt;
  }

 private:
  // Opens the node with this number, or all that the host has: one at least.
  std::optional<Error> OpenNumbered(const std::string& named, const std::string& before,
                                    const std::string& number, const std::string& missing) {
    if (!number.empty()) return Open(named + " with " + before + number, before + number, missing);
    const std::size_t slash = before.rfind('/');
    const std::string start = before.substr(slash + 1);
    std::vector<std::string> paths;
    const std::string directory = before.substr(0, slash);
    NotePath(directory);
    if (DIR* entries = opendir(directory.c_str())) {
      while (const dirent* entry = readdir(entries)) {
        const std::string_view name = entry->d_name;
        const std::string_view rest =
            name.starts_with(start) ? name.substr(start.size()) : std::string_view();
        const bool is_number = !rest.empty() && std::all_of(rest.begin(), rest.end(), [](char c) {
          return c >= '0' && c <= '9';
        });
        if (is_number) paths.push_back(JoinPath(directory, name));
      }
      closedir(entries);
    }
    if (paths.empty()) {
      return Error{ErrorCode::kSetup, named + " with " + before + "N, which this host lacks",
                   missing};
    }
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      TRY(Open(named + " with " + path, path, missing));
    }
    return std::nullopt;
  }

  // A part that is missing, or that leads out of /sys, is left out.
  void AddParts(const std::string& pattern) {
    NotePath(pattern);
    glob_t matches{};
    if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
      for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
        std::string real = RealPath(matches.gl_pathv[i]);
        if (PathCovers("/sys", real)) found_->parts.push_back(std::move(real));
      }
    }
    globfree(&matches);
  }

  OpenedDevices* found_;
};

}  // namespace

Result<OpenedDevices> OpenDevices(const std::vector<std::string>& devices) {
  OpenedDevices found;
  DeviceLook look(&found);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string named = "devices[" + std::to_string(i) + "] names " + QuotedShort(devices[i]);
    if (const auto family = ParseFamily(devices[i])) {
      TRY(look.OpenFamily(named, *family));
    } else {
      TRY(look.Open(named, devices[i], "create it, or remove it from devices"));
    }
  }
  auto& parts = found.parts;
  std::sort(parts.begin(), parts.end());
  std::vector<std::string> tops;
  for (std::string& part : parts) {
    const bool is_below = std::any_of(tops.begin(), tops.end(), [&part](const std::string& top) {
      return PathCovers(top, part);
    });
    if (!is_below) tops.push_back(std::move(part));
  }
  parts = std::move(tops);
  return found;
}

std::vector<std::string> DeviceRules(const std::vector<OpenedDevice>& nodes, DeviceMounts mounts) {
  const bool is_own = mounts == DeviceMounts::kOwn;
  std::vector<std::string> rules;
  rules.reserve(nodes.size());
  for (const OpenedDevice& node : nodes) {
    const char kind = is_own && node.is_ours ? kRuleKeptNode : kRuleNode;
    rules.push_back(kind + NamedFile(node.identity, is_own ? node.path : node.real_path));
  }
  return rules;
}

}  // namespace native_runner
