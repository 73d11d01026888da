#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/layer.h"

namespace native_runner {

// An order with kOrderNamespaces carries steps in place of rules. With these steps a launcher makes
// namespaces, sets them up and enters them. Steps run in order; the first that fails ends the
// launcher with kRefused. The first character is the step's kind. FILE is DEVICE:INODE:PATH
// (identity.h): a directory that is looked up in the current namespaces and must be the one that
// the host saw. NUMBER is a descriptor that the launcher was started with.
//
// A launcher started with the argument kNamespacesRole takes such an order. A launcher started
// without an argument runs a command: it closes the descriptors that it was started with and takes
// no such order.

// Makes a user namespace that maps the user to itself and grants all capabilities. Needed by users
// who can make no other namespace without it.
inline constexpr char kStepUserNamespace = 'u';

// Makes a mount namespace. Mounts made in it stay in it; later mounts and unmounts of the host
// appear in it too.
inline constexpr char kStepMountNamespace = 'm';

// Makes a mount namespace as kStepMountNamespace does, and in it a read-only mount of each device
// node that bwrap shows, on itself. bwrap's binds of them inherit that: nothing inside can change
// the nodes' modes, owners, times and attributes, which are the host's. It is not handed over. Does
// nothing where the kernel permits no mount namespace without a user namespace.
inline constexpr char kStepDevices = 'D';
inline constexpr const char* kDeviceNodes[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                               "/dev/random", "/dev/urandom", "/dev/tty"};

// PATH: a further device node, of which the mount namespace that kStepDevices or kStepOwnMounts has
// made gets such a mount too. Refuses if neither has made one.
inline constexpr char kStepDevice = 'N';

// Makes a mount namespace as kStepMountNamespace does. With "u" after it, makes a user namespace
// first, for users who can make no mount namespace without one. Neither is handed over.
inline constexpr char kStepOwnMounts = 'M';

// FILE, here a symbolic link: mounts the link on itself, which nothing in the mount namespace, nor
// in those made from it, can then remove, rename or replace. Its target is what it was. Needs Linux
// 5.12.
inline constexpr char kStepLink = 'k';

// FILE: a directory of the next overlay: one more lower directory (from the uppermost on), the
// upper directory, and the work directory, which is on the same mount as the upper one. See
// overlayfs.rst in Documentation/filesystems of Linux.
inline constexpr char kStepLower = 'l';
inline constexpr char kStepUpper = 'c';
inline constexpr char kStepWork = 'w';

// FILE: mounts the overlay of these directories on it.
inline constexpr char kStepOverlay = 'o';

// NUMBER:FILE, and lines with paths below it: a directory that kStepShowCaches will show. NUMBER is
// taken: the root of what is shown gets it. What the directory has at these paths, now or later, is
// not shown; none of them is inside another.
inline constexpr char kStepCache = 'C';
inline constexpr std::size_t kMostCaches = 32;

// FILE: a directory in one of kStepCache's. kStepShowCaches shows it, and what is mounted in it, at
// its path again as it is.
inline constexpr char kStepKept = 'K';
inline constexpr std::size_t kMostKept = 128;

// BYTES: shows the directories of kStepCache copy-on-write at their own paths, for good: what is
// written goes to a tmpfs of this size (0: half of the memory), which no path leads to. Needs a
// mount namespace of the launcher's own, and Linux 6.6: the tmpfs has extended attributes from then
// on.
inline constexpr char kStepShowCaches = 'U';

// NUMBER: enters this namespace and closes the descriptor.
inline constexpr char kStepJoin = 'j';

// NUMBER:PATH: refuses unless the path leads to the file that the descriptor refers to.
inline constexpr char kStepShown = 's';

// NUMBER: makes the overlay with this root drop unused cached knowledge of its layers, so that it
// reads them again. Closes the descriptor.
inline constexpr char kStepLookAgain = 'a';

// Makes a network namespace whose loopback is up. With "u" after it, makes a user namespace first,
// for users who can make no network namespace without one. Neither is handed over: the sockets
// bound in the network namespace keep it alive.
inline constexpr char kStepNetworkNamespace = 'n';

// LENGTH:DIGITS: routes every address of this IPv6 block (its base, in 32 hexadecimal digits) to
// the loopback. Does nothing if the kernel lacks IPv6.
inline constexpr char kStepLocalBlock = 'b';

// A list of ports, separated by commas: binds a socket to each and hands all of them over. A plain
// number is TCP and listens on every address, of IPv6 too if the kernel has it. A number after
// kUdpPort is UDP on 127.0.0.1. Sockets are close-on-exec and non-blocking.
inline constexpr char kStepListen = 'p';
inline constexpr char kUdpPort = 'u';
inline constexpr std::size_t kMostMade = 96;  // by one step; Linux takes 253 in a message

// NUMBER: executes this file with the order's argv and environment and all descriptors that the
// launcher was started with. Must be the last step. Without this step the launcher ends with
// kExited.
inline constexpr char kStepExecute = 'x';

// The steps of a template (kOrderTemplate). Each of its clones runs them once it has its own user,
// pid, mount, IPC, UTS and cgroup namespace. Of the steps above, a template may use
// kStepNetworkNamespace (without "u"; without this step the clone stays in the template's network
// namespace), kStepLocalBlock and kStepListen. PATH is where the clone mounts a file system of its
// own.

// PATH: proc(5) of the clone's own pid namespace, in place of the template's. "r" before the path
// mounts it read-only.
inline constexpr char kStepProc = 'P';
// PATH: a tmpfs of the size given in the clone's request, mode 0755.
inline constexpr char kStepTmpfs = 't';
// PATH, and lines with paths below it: a tmpfs like kStepTmpfs's, mode 0700, which has copies of
// the template's mounts at those paths. Directories above them are made.
inline constexpr char kStepHome = 'h';
inline constexpr std::size_t kMostInHome = 128;
// PATH, a newline and a text: a regular file with this text, mode 0644.
inline constexpr char kStepFile = 'f';
// PATH: a devpts instance of its own (Documentation/filesystems/devpts.rst).
inline constexpr char kStepTerminals = 'd';

// UID:GID: the ids that commands run as. The clone enters a further user namespace, in which no
// process has power over these mounts, and drops all capabilities. "-" after it: no further user
// namespace can be made in it (user_namespaces(7), /proc/sys/user). The last step, required in
// every template's order.
inline constexpr char kStepLeave = 'i';

// True if the step makes something, which the launcher then hands over with a report kMade.
constexpr bool MakesSomething(char kind) {
  return kind == kStepUserNamespace || kind == kStepMountNamespace || kind == kStepOverlay ||
         kind == kStepListen;
}

inline constexpr char kNamespacesRole[] = "namespaces";

// The order that the supervisor hands to the launcher over a descriptor: a fixed header followed by
// NUL-terminated strings (cwd, argv..., environment..., rules...). Both sides are built from this
// file, so the layout is the host's own. Version and size are checked all the same: a stale
// launcher binary must refuse rather than guess.

inline constexpr std::uint32_t kOrderMagic = 0x4e525531;  // "NRU1"
inline constexpr std::uint32_t kOrderVersion = 13;
inline constexpr std::uint64_t kNoLimit = UINT64_MAX;
inline constexpr std::uint64_t kNoLease = UINT64_MAX;

// Conditions that must hold before the command starts, and what the launcher does to run it. The
// launcher checks each condition and refuses if one does not hold.
enum OrderFlag : std::uint32_t {
  kOrderIsInit = 1u << 0,             // the launcher is pid 1 of its own pid namespace
  kOrderNoCapabilities = 1u << 1,     // the capability sets are empty (capget(2))
  kOrderNoNewPrivs = 1u << 2,         // set no_new_privs and check that it is set (prctl(2))
  kOrderSeccomp = 1u << 3,            // install the built-in filter
  kOrderNoSockets = 1u << 4,          // with kOrderSeccomp: refuse socket(2) altogether
  kOrderLandlock = 1u << 5,           // restrict files to the order's rules
  kOrderScoped = 1u << 6,             // also restrict signals and abstract sockets, if possible
  kOrderMakeInit = 1u << 7,           // become pid 1 of a new pid namespace, if one can be made
  kOrderDropCapabilities = 1u << 8,   // empty the capability sets before they are checked
  kOrderOwnMountNamespace = 1u << 9,  // these three are not the host's, which the header has
  kOrderOwnPidNamespace = 1u << 10,
  kOrderOwnNetworkNamespace = 1u << 11,
  kOrderCheckFiles = 1u << 12,   // the rules of kinds `h`, `s`, `o`, `n` and `k` hold
  kOrderSession = 1u << 13,      // run no command: wait for the host's commands (report.h)
  kOrderOwnSession = 1u << 14,   // the command leads a session and a process group (setsid(2)),
                                 // which receives the host's signals
  kOrderTerminal = 1u << 15,     // with it, a terminal of the header's size is the command's 0 to 2
  kOrderMergeStderr = 1u << 16,  // stderr goes where stdout does; not with a terminal
  kOrderOwnMounts = 1u << 17,    // no mount receives or propagates mounts (SharedMounts)
  kOrderNamespaces = 1u << 18,   // run no command: the rules are steps; with no other flag
  kOrderRenames = 1u << 19,      // rename directories that the overlay of a rule refuses to rename
  kOrderTemplate = 1u << 20,     // run no command: make a sandbox for each request of the host; the
                                 // rules are its steps; with no other flag
  kOrderExplain = 1u << 21,      // trace the command and report what it was refused (report.h)
  kOrderLookUps = 1u << 22,      // with kOrderExplain: also refused look-ups (stat(2), access(2))
  kOrderThreadNames = 1u << 23,  // commands of a session may write to files in /proc, as drivers do
                                 // to name their threads
};
inline constexpr std::uint32_t kOrderKnownFlags = 0xffffff;

// The first character of a rule is its kind. These kinds allow access to the path that follows and
// everything below it.
inline constexpr char kRuleRead = 'r';       // read, list, execute
inline constexpr char kRuleReadEntry = 'e';  // the same for a listed path; skipped if it has gone
inline constexpr char kRuleWrite = 'w';      // write, make, remove, rename
inline constexpr char kRuleList = 'l';       // list directories
inline constexpr char kRuleDevice = 'd';     // read and write an existing file, ioctl(2) a device

// These kinds, with kOrderCheckFiles, are checked against what the program that confines files did.
// All but `o` are followed by the host's DEVICE:INODE:PATH (identity.h).
inline constexpr char kRuleHidden = 'h';    // the path does not show the host's file
inline constexpr char kRuleShown = 's';     // the path shows the host's file
inline constexpr char kRuleReadOnly = 'o';  // the path that follows is mounted read-only
inline constexpr char kRuleNode = 'n';      // the path shows the host's device node
inline constexpr char kRuleKeptNode = 'k';  // the same, and is mounted read-only

// With kOrderRenames: a path in the overlay.
inline constexpr char kRuleOverlay = 'v';

struct OrderHeader {
  std::uint32_t magic = kOrderMagic;
  std::uint32_t version = kOrderVersion;
  std::uint32_t flags = 0;
  std::uint32_t argc = 0;
  std::uint32_t envc = 0;
  std::uint32_t rulec = 0;
  LayerSet required = {};              // of kLayersOfLauncher: those required to run the command
  std::uint16_t terminal_columns = 0;  // kOrderTerminal only: characters, at least 1
  std::uint16_t terminal_rows = 0;
  std::uint32_t unused = 0;              // keeps the layout free of padding
  std::uint64_t data_bytes = kNoLimit;   // RLIMIT_DATA
  std::uint64_t cpu_seconds = kNoLimit;  // RLIMIT_CPU
  std::uint64_t processes = kNoLimit;    // RLIMIT_NPROC
  std::uint64_t open_files = kNoLimit;   // RLIMIT_NOFILE
  std::uint64_t file_bytes = kNoLimit;   // RLIMIT_FSIZE
  // RLIMIT_NOFILE: the command's hard limit where there is no `open_files`. The soft one stays, if
  // it is not higher.
  std::uint64_t most_open_files = kNoLimit;
  std::uint64_t mount_namespace = 0;  // inode numbers of the host's namespaces (namespaces(7))
  std::uint64_t pid_namespace = 0;
  std::uint64_t network_namespace = 0;
  std::uint64_t network_cookie = 0;  // the host's SO_NETNS_COOKIE, for use without /proc; 0: none
  std::uint64_t lease_until_ns = kNoLease;  // CLOCK_BOOTTIME: all processes of the command end by
                                            // then, unless kLeaseMessage sets a later time
  std::uint64_t text_bytes = 0;             // length of the strings that follow
};

// Size limit, in bytes, of an order sent in its message. A larger order travels in a file sent with
// the message.
inline constexpr std::size_t kMostInMessage = std::size_t{16} << 10U;

// Encodes an order. With an empty `cwd` the launcher stays where it was started.
std::vector<std::byte> EncodeOrder(OrderHeader header, std::string_view cwd,
                                   std::span<const std::string> argv,
                                   std::span<const std::string> environment,
                                   std::span<const std::string> rules = {});

// A checked view of an encoded order. Points into the bytes it was made from.
struct OrderView {
  OrderHeader header;
  const char* cwd = nullptr;      // NUL-terminated, may be empty
  const char* strings = nullptr;  // argc + envc + rulec NUL-terminated strings in a row
};

// Checks everything (magic, version, flags, counts against NULs, size) without allocating. Returns
// nullptr on success, else a static sentence that describes the fault.
const char* DecodeOrder(std::span<const std::byte> bytes, OrderView* view);

// Fills `pointers` (argc + 1 + envc + 1 + rulec + 1 entries) with argv, nullptr, environment,
// nullptr, rules, nullptr.
void OrderPointers(const OrderView& view, std::span<char*> pointers);

}  // namespace native_runner
