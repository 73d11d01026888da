#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/layer.h"

namespace native_runner {

// What an order with kOrderNamespaces has in place of rules: the steps by which a launcher makes
// namespaces, furnishes them, and enters them. They are taken in their order, and the first that
// fails is the end (kRefused). The first character is the step's kind; FILE is DEVICE:INODE:PATH
// (identity.h), a directory that is looked up in the namespaces as they are by then and must
// be the one that the host has looked at; NUMBER is a descriptor that the launcher was started
// with.
//
// A launcher takes such an order when it is started with an argument, kNamespacesRole. Without one
// it is the launcher of a command, closes what it was started with, and takes no such order.

// Makes a user namespace in which the user stays who he is, with all capabilities. For who may make
// no other namespace without.
inline constexpr char kStepUserNamespace = 'u';

// Makes a mount namespace. What is mounted in it is its own; what the host mounts or unmounts later
// is seen in it too.
inline constexpr char kStepMountNamespace = 'm';

// FILE: of the overlay to come, the next layer that it only reads, from the uppermost on; where it
// puts changes; and what it needs for that besides, on the same mount. See overlay(5) in
// Documentation/filesystems of Linux.
inline constexpr char kStepLower = 'l';
inline constexpr char kStepUpper = 'c';
inline constexpr char kStepWork = 'w';

// FILE: mounts the overlay of these on it.
inline constexpr char kStepOverlay = 'o';

// NUMBER: enters the namespace that it is, and closes it.
inline constexpr char kStepJoin = 'j';

// NUMBER:PATH: refuses unless the path leads to what the descriptor is.
inline constexpr char kStepShown = 's';

// NUMBER: has the overlay whose root it is forget what nobody uses of what it knows of its layers,
// so that it looks at them again; closes it.
inline constexpr char kStepLookAgain = 'a';

// Makes a network namespace whose loopback is up. "u" behind it: with a user namespace, as above,
// for who may make no other without. Nobody is handed either: what is bound in it keeps it.
inline constexpr char kStepNetworkNamespace = 'n';

// LENGTH:DIGITS: has every address of this block of IPv6 (its base, in 32 hexadecimal digits) lead
// to the loopback, where the kernel has IPv6; else nothing is done.
inline constexpr char kStepLocalBlock = 'b';

// A list of ports, with a comma between: binds a socket to each, and hands all of them over. A
// plain number is TCP that listens on every address, of IPv6 too where the kernel has it; behind
// kUdpPort it is UDP on 127.0.0.1. Close-on-exec, non-blocking.
inline constexpr char kStepListen = 'p';
inline constexpr char kUdpPort = 'u';
inline constexpr std::size_t kMostMade = 96;  // of one step; Linux takes 253 in a message

// NUMBER: executes it, with the order's argv and environment, and all that it was started with. The
// last step. Who has none of this kind ends with kExited.
inline constexpr char kStepExecute = 'x';

// The steps of a template (kOrderTemplate), which each of its clones takes once it has a user, pid,
// mount, IPC, UTS and cgroup namespace of its own. Of those above they may have
// kStepNetworkNamespace (without "u"; else the clone stays in the template's), kStepLocalBlock and
// kStepListen. PATH is where a file system of the clone's own is mounted.

// PATH: proc(5), not in the state of the template's; "r" ahead of the path: read-only.
inline constexpr char kStepProc = 'P';
// PATH: a tmpfs of the size that the clone's request says, mode 0755.
inline constexpr char kStepTmpfs = 't';
// PATH: devpts, another instance than any other (Documentation/filesystems/devpts.rst).
inline constexpr char kStepTerminals = 'd';

// UID:GID: who commands are. The clone enters a further user namespace, in which nobody has these
// mounts in his power, and leaves all capabilities. "-" behind it: nobody in it can make another
// one (user_namespaces(7), /proc/sys/user). The last step, and no template's order is without.
inline constexpr char kStepLeave = 'i';

// Whether a step makes something: the launcher then hands it over with a report of its own, kMade.
constexpr bool MakesSomething(char kind) {
  return kind == kStepUserNamespace || kind == kStepMountNamespace || kind == kStepOverlay ||
         kind == kStepListen;
}

inline constexpr char kNamespacesRole[] = "namespaces";

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
  kOrderNamespaces = 1u << 18,   // no command's: the rules are steps (Step); with no other flag
  kOrderRenames = 1u << 19,      // rename directories that the overlay of a rule refuses to rename
  kOrderTemplate = 1u << 20,     // run no command: make a sandbox for each that the host asks for;
                                 // the rules are each one's steps (Step); with no other flag
  kOrderExplain = 1u << 21,      // trace the command and tell what it was refused (report.h)
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
// first two are followed by DEVICE:INODE:PATH (identity.h), as the host has it.
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
