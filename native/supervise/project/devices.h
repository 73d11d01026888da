#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/result.h"
#include "protocol/identity.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// A character device of the host, pinned when the run started.
struct OpenedDevice {
  Descriptor file;        // O_PATH
  std::string path;       // where commands see it: as it was asked for
  std::string real_path;  // on the host, with links resolved
  FileIdentity identity;  // of the node
  bool is_ours = false;   // this user owns the node: commands could change it
};

// What the option `devices` stands for on this host.
struct OpenedDevices {
  std::vector<OpenedDevice> nodes;  // each path once
  std::vector<std::string> parts;   // of /sys: real paths, none below another
};

// Looks up the entries of the option, which CheckDevices has accepted. kSetup, naming the entry, if
// a device is missing, is no character device below /dev, is one that no command may have
// (WhyRefused), or can't be opened by this user: programs would do without it and say nothing.
Result<OpenedDevices> OpenDevices(const std::vector<std::string>& devices);

// Returns the rules by which the launcher refuses unless commands see these nodes (kRuleNode in
// protocol/order.h): in a sandbox's own mounts at `path`, which are read-only if this user owns the
// node (kRuleKeptNode), or in the host's at `real_path`.
enum class DeviceMounts { kOwn, kHosts };
std::vector<std::string> DeviceRules(const std::vector<OpenedDevice>& nodes, DeviceMounts mounts);

}  // namespace native_runner
