#include "policy/options/devices.h"

#include <algorithm>
#include <array>

#include "policy/options/validate.h"
#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

// CUDA's and NVML's nodes. Without nvidia-uvm, which is made when it is first used, programs would
// compute on the CPU and say nothing.
constexpr std::array kNvidiaNodes = {
    FamilyNode{"/dev/nvidiactl"},
    FamilyNode{"/dev/nvidia-uvm"},
    FamilyNode{"/dev/nvidia#"},
    FamilyNode{"/dev/nvidia-uvm-tools", true},
    FamilyNode{"/dev/nvidia-modeset", true},
};
constexpr std::array<std::string_view, 4> kNvidiaParts = {
    "/sys/module/nvidia", "/sys/module/nvidia_uvm", "/sys/bus/pci/drivers/nvidia",
    "/sys/bus/pci/drivers/nvidia/*:*:*.*"};

// Render nodes compute and draw. The card* nodes set the screen's modes as well.
constexpr std::array kDriNodes = {FamilyNode{"/dev/dri/renderD#"}};
constexpr std::array<std::string_view, 3> kDriParts = {"/sys/class/drm", "/sys/dev/char",
                                                       "/sys/class/drm/renderD*/device"};

// ROCm's: the topology of its GPUs is in /sys/class/kfd.
constexpr std::array kKfdNodes = {FamilyNode{"/dev/kfd"}, FamilyNode{"/dev/dri/renderD#"}};
constexpr std::array<std::string_view, 5> kKfdParts = {"/sys/class/kfd", "/sys/devices/virtual/kfd",
                                                       "/sys/class/drm", "/sys/dev/char",
                                                       "/sys/class/drm/renderD*/device"};

constexpr std::array kKvmNodes = {FamilyNode{"/dev/kvm"}};
constexpr std::array kFuseNodes = {FamilyNode{"/dev/fuse"}};
constexpr std::array kTunNodes = {FamilyNode{"/dev/net/tun"}};

constexpr std::array kFamilies = {
    DeviceFamily{.name = "nvidia",
                 .by_number = true,
                 .nodes = kNvidiaNodes,
                 .parts = kNvidiaParts,
                 .driver = "NVIDIA's driver (nvidia-modprobe -u -c 0 makes its nodes)",
                 .names_threads = true},
    DeviceFamily{.name = "dri",
                 .nodes = kDriNodes,
                 .parts = kDriParts,
                 .driver = "the driver of a GPU with a render node"},
    DeviceFamily{.name = "kfd",
                 .nodes = kKfdNodes,
                 .parts = kKfdParts,
                 .driver = "the driver amdgpu with compute"},
    DeviceFamily{.name = "kvm", .nodes = kKvmNodes, .parts = {}, .driver = "the module kvm"},
    DeviceFamily{.name = "fuse", .nodes = kFuseNodes, .parts = {}, .driver = "the module fuse"},
    DeviceFamily{.name = "tun", .nodes = kTunNodes, .parts = {}, .driver = "the module tun"},
};

constexpr std::string_view kWanted =
    "a path below /dev, or \"nvidia\", \"nvidia:N\", \"dri\", \"kfd\", \"kvm\", \"fuse\" or "
    "\"tun\"";

// What a sandbox's own /dev has, apart from directories and links (bwrap(1)).
constexpr std::array<std::string_view, 7> kOwnNodes = {
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"};

// Places of the sandbox's own, and links that lead out of /dev.
constexpr std::array<std::string_view, 9> kOwnPlaces = {
    "/dev/shm",    "/dev/pts",    "/dev/mqueue",  "/dev/fd",  "/dev/stdin",
    "/dev/stdout", "/dev/stderr", "/dev/console", "/dev/core"};

struct RefusedDevice {
  std::uint32_t major;
  std::uint32_t first_minor;
  std::uint32_t last_minor;
  const char* why;
};

constexpr std::uint32_t kAll = UINT32_MAX;
constexpr const char* kMemory = "is the memory of the machine";
constexpr const char* kConsole = "is a console of the machine";
constexpr const char* kScreen = "shows what is on the machine's consoles";
constexpr const char* kDisks = "gives access to the machine's disks";

// Documentation/admin-guide/devices.txt of Linux.
constexpr std::array kRefused = {
    RefusedDevice{1, 1, 2, kMemory},  // mem, kmem
    RefusedDevice{1, 4, 4, "gives access to the machine's I/O ports"},
    RefusedDevice{1, 6, 6, kMemory},  // core
    RefusedDevice{1, 11, 11, "is the kernel's log"},
    RefusedDevice{1, 12, 12, kMemory},  // oldmem
    RefusedDevice{4, 0, 63, kConsole},
    RefusedDevice{5, 1, 1, kConsole},
    RefusedDevice{7, 0, kAll, kScreen},     // vcs*
    RefusedDevice{9, 0, kAll, kDisks},      // st*
    RefusedDevice{21, 0, kAll, kDisks},     // sg*
    RefusedDevice{90, 0, kAll, kDisks},     // mtd*
    RefusedDevice{136, 0, kAll, kConsole},  // the terminals of /dev/pts: 136 to 143
    RefusedDevice{137, 0, kAll, kConsole},
    RefusedDevice{138, 0, kAll, kConsole},
    RefusedDevice{139, 0, kAll, kConsole},
    RefusedDevice{140, 0, kAll, kConsole},
    RefusedDevice{141, 0, kAll, kConsole},
    RefusedDevice{142, 0, kAll, kConsole},
    RefusedDevice{143, 0, kAll, kConsole},
    RefusedDevice{162, 0, kAll, kDisks},  // raw*
    RefusedDevice{202, 0, kAll, "sets registers of the machine's processors"},
    RefusedDevice{10, 130, 130, "can restart the machine"},  // watchdog
    RefusedDevice{10, 144, 144, "is the memory of the machine's firmware"},
    RefusedDevice{10, 223, 223, "can act as the machine's keyboard"},  // uinput
    RefusedDevice{10, 231, 231, kMemory},                              // snapshot
    RefusedDevice{10, 234, 237, kDisks},  // btrfs-control, autofs, mapper/control, loop-control
    RefusedDevice{10, 239, 239, "can act as the machine's keyboard"},  // uhid
};

struct RefusedName {
  std::string_view before;
  const char* why;
};
constexpr std::array kRefusedNames = {
    RefusedName{"/dev/bsg/", kDisks},
    RefusedName{"/dev/nvme", kDisks},
    RefusedName{"/dev/ng", kDisks},
    RefusedName{"/dev/watchdog", "can restart the machine"},
    RefusedName{"/dev/vfio/", "gives access to the memory of the machine's devices"},
};

bool IsDigits(std::string_view text) {
  return !text.empty() && text.size() <= 4 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Error RefusedEntry(std::size_t index, std::string_view wanted, std::string_view entry) {
  std::string message = "Expected `devices[" + std::to_string(index) + "]` to be ";
  message += wanted;
  message += ", got " + QuotedShort(entry);
  return {ErrorCode::kInvalidValue, std::move(message), ""};
}

std::optional<Error> CheckNode(std::size_t index, const std::string& path, DevicesOf use) {
  TRY(CheckPlainPath(path, "devices[" + std::to_string(index) + "]"));
  if (!PathCovers("/dev", path) || SamePath("/dev", path)) {
    return RefusedEntry(index, kWanted, path);
  }
  for (const std::string_view own : kOwnPlaces) {
    if (!PathCovers(own, path)) continue;
    return RefusedEntry(index, "a path outside of " + std::string(own), path);
  }
  // It finds its terminals beside itself, and there are none.
  if (use == DevicesOf::kEmptyDev && SamePath("/dev/ptmx", path)) {
    return RefusedEntry(index, "another device with `devBind: false`", path);
  }
  return std::nullopt;
}

}  // namespace

std::optional<AskedFamily> ParseFamily(std::string_view entry) {
  const std::size_t colon = entry.find(':');
  const std::string_view name = entry.substr(0, colon);
  const auto* const found =
      std::find_if(kFamilies.begin(), kFamilies.end(),
                   [name](const DeviceFamily& family) { return family.name == name; });
  if (found == kFamilies.end()) return std::nullopt;
  AskedFamily asked{.family = found, .number = ""};
  if (colon == std::string_view::npos) return asked;
  const std::string_view number = entry.substr(colon + 1);
  if (!found->by_number || !IsDigits(number)) return std::nullopt;
  asked.number = number;
  return asked;
}

bool NamesThreads(const std::vector<std::string>& devices) {
  return std::any_of(devices.begin(), devices.end(), [](const std::string& entry) {
    const auto asked = ParseFamily(entry);
    return asked && asked->family->names_threads;
  });
}

std::optional<Error> CheckDevices(const std::vector<std::string>& devices, DevicesOf use) {
  if (devices.size() > kMostDevices) {
    return Error{ErrorCode::kInvalidValue,
                 "Expected `devices` to be at most " + std::to_string(kMostDevices) +
                     " devices, got " + std::to_string(devices.size()),
                 ""};
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string& entry = devices[i];
    const auto asked = ParseFamily(entry);
    if (!asked && !entry.starts_with('/')) return RefusedEntry(i, kWanted, entry);
    if (!asked) {
      TRY(CheckNode(i, entry, use));
    } else if (use == DevicesOf::kHostPaths && asked->family->names_threads) {
      return Error{
          ErrorCode::kInvalidValue,
          "Expected `devices[" + std::to_string(i) + "]` to be another one than " +
              QuotedShort(entry) +
              " with Landlock: its driver writes to /proc/self/task/*/comm, which Landlock "
              "can allow only together with all of the host's /proc",
          "use Bubblewrap, whose commands have a /proc of their own"};
    }
  }
  return std::nullopt;
}

bool IsOwnNode(std::string_view path) {
  return std::any_of(kOwnNodes.begin(), kOwnNodes.end(),
                     [path](std::string_view own) { return SamePath(own, path); });
}

const char* WhyRefused(std::uint32_t major, std::uint32_t minor, std::string_view path) {
  for (const RefusedDevice& each : kRefused) {
    if (each.major == major && minor >= each.first_minor && minor <= each.last_minor)
      return each.why;
  }
  for (const RefusedName& each : kRefusedNames) {
    if (path.starts_with(each.before)) return each.why;
  }
  return nullptr;
}

}  // namespace native_runner
