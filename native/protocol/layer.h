#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace native_runner {

// What confines a command. The code speaks of layers by these values; their names are for audits,
// for the layers that a policy requires, and for the reasons of refusals. No heap and no C library:
// the launcher uses it too.
enum class Layer : std::uint8_t {
  kMountNamespace,
  kUserNamespace,
  kPidNamespace,
  kIpcNamespace,
  kUtsNamespace,
  kCgroupNamespace,
  kNetworkNamespace,
  kUsernsDisabled,  // no further user namespace can be made
  kReadOnlyRoot,
  kReadOnlyPaths,
  kHiddenFiles,
  kSecretsMasked,
  kNoProc,
  kNoCapabilities,
  kNoNewPrivs,
  kSeccomp,
  kNoSockets,
  kLandlockFiles,
  kLandlockTcp,
  kLandlockScope,
  kCommandSeparation,     // commands of a session can neither trace nor signal one another
  kTreeKillPidNamespace,  // how what is left of a command is ended
  kTreeKillSubreaper,
  kTreeKillIncomplete,  // it was not: a process could not be signalled
  kRlimits,
  kCgroup,
  kTmpWithoutSize,  // a memory limit could not size the private /tmp: this bwrap lacks --size
  kSession,
  kTransactionOverlay,  // the workspace is an overlay: what is written reaches no file of the
                        // host's
  kRenameDirectories,   // in it, also directories of the project's can be renamed
  kTransactionCopy,     // it is a copy
  kNetworkByDomain,     // what it reaches of the network is what the rules name
};

// By their values.
inline constexpr std::array kLayerNames = {
    "mount-namespace",
    "user-namespace",
    "pid-namespace",
    "ipc-namespace",
    "uts-namespace",
    "cgroup-namespace",
    "network-namespace",
    "userns-disabled",
    "read-only-root",
    "read-only-paths",
    "hidden-files",
    "secrets-masked",
    "no-proc",
    "no-capabilities",
    "no-new-privs",
    "seccomp",
    "no-sockets",
    "landlock-fs",
    "landlock-tcp",
    "landlock-scope",
    "command-separation",
    "tree-kill:pid-namespace",
    "tree-kill:subreaper",
    "tree-kill:incomplete",
    "rlimits",
    "cgroup",
    "tmp-without-size",
    "session",
    "transaction:overlay",
    "rename-directories",
    "transaction:copy",
    "network-by-domain",
};
static_assert(kLayerNames.size() == static_cast<std::size_t>(Layer::kNetworkByDomain) + 1);

constexpr const char* LayerName(Layer layer) {
  return kLayerNames[static_cast<std::size_t>(layer)];
}

// The layer of this name; nothing for any other text.
constexpr std::optional<Layer> LayerOf(std::string_view name) {
  for (std::size_t at = 0; at < kLayerNames.size(); ++at) {
    if (name == kLayerNames[at]) return static_cast<Layer>(at);
  }
  return std::nullopt;
}

// Some of the layers. Plain data, as orders and reports carry it.
struct LayerSet {
  std::uint32_t bits = 0;

  constexpr LayerSet() = default;
  constexpr LayerSet(std::initializer_list<Layer> layers) {
    for (const Layer layer : layers)
      Add(layer);
  }

  constexpr bool operator==(const LayerSet&) const = default;
  constexpr bool IsEmpty() const { return bits == 0; }
  constexpr bool Has(Layer layer) const { return (bits & Bit(layer)) != 0; }
  constexpr void Add(Layer layer) { bits |= Bit(layer); }
  constexpr void Remove(Layer layer) { bits &= ~Bit(layer); }

 private:
  static constexpr std::uint32_t Bit(Layer layer) {
    return std::uint32_t{1} << static_cast<unsigned>(layer);
  }
};
static_assert(kLayerNames.size() <= 32);

// Those of which only the launcher can tell whether the kernel gives them, in the order in which
// audits list them.
inline constexpr std::array kLayersOfLauncher = {
    Layer::kLandlockFiles, Layer::kLandlockTcp,       Layer::kLandlockScope,
    Layer::kPidNamespace,  Layer::kCommandSeparation, Layer::kRenameDirectories,
};

}  // namespace native_runner
