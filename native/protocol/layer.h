#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace native_runner {

// A protection that confines a command. Code names layers by these values. Their text names appear
// in audits, in the layers that a policy requires, and in the reasons of refusals. Uses no heap and
// no C library, because the launcher uses it too.
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
  kTreeKillPidNamespace,  // how the remaining processes of a command are killed
  kTreeKillSubreaper,
  kTreeKillIncomplete,  // some were not killed: a process could not be signalled
  kRlimits,
  kCgroup,
  kTmpWithoutSize,  // a memory limit could not size the private /tmp: this bwrap lacks --size
  kSession,
  kTransactionOverlay,  // the workspace is an overlay: writes reach no file of the host
  kRenameDirectories,   // in that overlay, the project's directories can be renamed too
  kTransactionCopy,     // the workspace is a copy
  kNetworkByDomain,     // the command reaches only the hosts that the rules name
  kPrivateHome,         // HOME is a directory of the host that is this run's or session's alone
};

// Indexed by the values of Layer.
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
    "private-home",
};
static_assert(kLayerNames.size() == static_cast<std::size_t>(Layer::kPrivateHome) + 1);

constexpr const char* LayerName(Layer layer) {
  return kLayerNames[static_cast<std::size_t>(layer)];
}

// Returns the layer with this name, nullopt for any other text.
constexpr std::optional<Layer> LayerOf(std::string_view name) {
  for (std::size_t at = 0; at < kLayerNames.size(); ++at) {
    if (name == kLayerNames[at]) return static_cast<Layer>(at);
  }
  return std::nullopt;
}

// A set of layers. Plain data, because orders and reports carry it.
struct LayerSet {
  std::uint64_t bits = 0;

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
  static constexpr std::uint64_t Bit(Layer layer) {
    return std::uint64_t{1} << static_cast<unsigned>(layer);
  }
};
static_assert(kLayerNames.size() <= 64);

// The layers that only the launcher can check, because they depend on the kernel. In the order in
// which audits list them.
inline constexpr std::array kLayersOfLauncher = {
    Layer::kLandlockFiles, Layer::kLandlockTcp,       Layer::kLandlockScope,
    Layer::kPidNamespace,  Layer::kCommandSeparation, Layer::kRenameDirectories,
};

}  // namespace native_runner
