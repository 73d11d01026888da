#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/layer.h"

namespace native_runner {

// The order that the supervisor hands to the launcher over a descriptor: a fixed header followed by
// NUL-terminated strings (cwd, argv..., environment..., rules...). Both sides are built from this
// file, so the layout is the host's own; version and size are checked all the same, since a stale
// launcher binary must refuse rather than guess.

inline constexpr std::uint32_t kOrderMagic = 0x4e525531;  // "NRU1"
inline constexpr std::uint32_t kOrderVersion = 9;
inline constexpr std::uint64_t kNoLimit = UINT64_MAX;
inline constexpr std::uint64_t kNoLease = UINT64_MAX;

// What must be in force before the command starts; the launcher checks each and refuses otherwise.
enum OrderFlag : std::uint32_t {
  kOrderIsInit = 1u << 0,             // we are pid 1 of our own pid namespace
  kOrderNoCapabilities = 1u << 1,     // capability sets are empty (capget(2))
  kOrderNoNewPrivs = 1u << 2,         // set it, and check it is set (prctl(2))
  kOrderSeccomp = 1u << 3,            // install the filter that was built in
  kOrderNoSockets = 1u << 4,          // with it, refuse socket(2) altogether
  kOrderLandlock = 1u << 5,           // restrict files to the order's rules
  kOrderScoped = 1u << 6,             // with it, signals and abstract sockets where the kernel can
  kOrderMakeInit = 1u << 7,           // become pid 1 of a new pid namespace where one may be made
  kOrderDropCapabilities = 1u << 8,   // empty the capability sets before they are checked
  kOrderOwnMountNamespace = 1u << 9,  // these three are not the host's, whose numbers are given
  kOrderOwnPidNamespace = 1u << 10,
  kOrderOwnNetworkNamespace = 1u << 11,
  kOrderCheckFiles = 1u << 12,   // the rules of kinds `h`, `s` and `o` hold
  kOrderSession = 1u << 13,      // run no command: wait for those that the host sends (report.h)
  kOrderOwnSession = 1u << 14,   // the command leads a session and a process group (setsid(2)), to
                                 // which the host's signals go
  kOrderTerminal = 1u << 15,     // with it, a terminal of the header's size is its 0, 1 and 2
  kOrderMergeStderr = 1u << 16,  // stderr goes where stdout does; not with a terminal
  kOrderOwnMounts = 1u << 17,    // none of our mounts gets what others mount, or gives them ours
  kOrderNamespaces = 1u << 18,   // no command's: the rules are steps (step.h); with no other flag
  kOrderRenames = 1u << 19,      // rename directories that the overlay of a rule refuses to rename
  kOrderTemplate = 1u << 20,     // run no command: make a sandbox for each that the host asks for;
                                 // the rules are each one's steps (step.h); with no other flag
  kOrderExplain = 1u << 21,      // trace the command and tell what it was refused (observation.h)
  kOrderLookUps = 1u << 22,      // with it, also files that it only looked for (stat(2), access(2))
};
inline constexpr std::uint32_t kOrderKnownFlags = 0x7fffff;

// The first character of a rule says what is allowed on and below the path that follows it.
inline constexpr char kRuleRead = 'r';       // read, list, execute
inline constexpr char kRuleReadEntry = 'e';  // the same of what was found there, unless it has gone
inline constexpr char kRuleWrite = 'w';      // write, make, remove, rename
inline constexpr char kRuleList = 'l';       // list directories
inline constexpr char kRuleDevice = 'd';     // read and write an existing file, ioctl(2) a device

// Or it is to be checked, with kOrderCheckFiles, what a program that was to confine files did. The
// first two are followed by DEVICE:INODE:PATH (file_identity.h), as the host has it.
inline constexpr char kRuleHidden = 'h';    // the host's file is not what is at the path
inline constexpr char kRuleShown = 's';     // it is
inline constexpr char kRuleReadOnly = 'o';  // the path that follows is mounted read-only

// Or it is the overlay, with kOrderRenames: the path that follows is in it.
inline constexpr char kRuleOverlay = 'v';

struct OrderHeader {
  std::uint32_t magic = kOrderMagic;
  std::uint32_t version = kOrderVersion;
  std::uint32_t flags = 0;
  std::uint32_t argc = 0;
  std::uint32_t envc = 0;
  std::uint32_t rulec = 0;
  LayerSet required = {};              // of kLayersOfLauncher, those without which nothing may run
  std::uint16_t terminal_columns = 0;  // kOrderTerminal only: characters, from 1 on
  std::uint16_t terminal_rows = 0;
  std::uint64_t data_bytes = kNoLimit;   // RLIMIT_DATA
  std::uint64_t cpu_seconds = kNoLimit;  // RLIMIT_CPU
  std::uint64_t processes = kNoLimit;    // RLIMIT_NPROC
  std::uint64_t open_files = kNoLimit;   // RLIMIT_NOFILE
  std::uint64_t file_bytes = kNoLimit;   // RLIMIT_FSIZE
  std::uint64_t mount_namespace = 0;     // inode numbers of the host's own (namespaces(7))
  std::uint64_t pid_namespace = 0;
  std::uint64_t network_namespace = 0;
  std::uint64_t network_cookie = 0;  // the same by SO_NETNS_COOKIE, for who sees no /proc; 0: none
  std::uint64_t lease_until_ns = kNoLease;  // CLOCK_BOOTTIME: by then all of the command is to be
                                            // ended, unless kLeaseMessage says a later time
  std::uint64_t text_bytes = 0;             // length of the strings that follow
};

// An order up to this size travels in its message; a larger one in a file that goes with it.
inline constexpr std::size_t kMostInMessage = std::size_t{16} << 10U;

// Encodes an order. `cwd` empty: the launcher stays where it was started.
std::vector<std::byte> EncodeOrder(OrderHeader header, std::string_view cwd,
                                   std::span<const std::string> argv,
                                   std::span<const std::string> environment,
                                   std::span<const std::string> rules = {});

// A checked view of an encoded order; points into the bytes it was made from.
struct OrderView {
  OrderHeader header;
  const char* cwd = nullptr;      // NUL-terminated, may be empty
  const char* strings = nullptr;  // argc + envc + rulec NUL-terminated strings in a row
};

// Checks everything (magic, version, flags, counts against NULs, size) without allocating.
// Returns nullptr on success, else a static sentence that says what is wrong.
const char* DecodeOrder(std::span<const std::byte> bytes, OrderView* view);

// Fills `pointers` (argc + 1 + envc + 1 + rulec + 1 entries) with argv, nullptr, environment,
// nullptr, rules, nullptr.
void OrderPointers(const OrderView& view, std::span<char*> pointers);

}  // namespace native_runner
