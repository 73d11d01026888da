#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/layer.h"

namespace native_runner {

// Messages on the control socket (SOCK_SEQPACKET). The launcher sends reports, one record per
// message.
//
// The supervisor sends the order once: as bytes after kOrderMessage, or in a file that comes with
// it (SCM_RIGHTS). At most one byte kKillMessage may come later, or in place of the order. Before
// the order, kInputMessage with a descriptor replaces stdin. After the order, kSignalMessage and a
// byte, a signal's number, signals the command's process group (kOrderOwnSession). After an order
// with a lease, kLeaseMessage and eight bytes, a std::uint64_t, set the lease's new end
// (OrderHeader::lease_until_ns).
//
// To a session (kOrderSession) the supervisor sends kCommandMessage with kCommandDescriptors: the
// launcher's end of the command's own control socket, which carries all the messages above, then
// stdin, stdout and stderr. In a shell session, kStateMessage with a descriptor, before the order,
// hands over the shell's state; the command finds it as kStateDescriptor.
//
// From kReady on, kForwardMessage with a descriptor hands a launcher, or a session, its end of a
// SOCK_SEQPACKET socket. Each byte kSocketsIpv4 or kSocketsIpv6 that the supervisor sends there is
// answered by a SocketsReply with `count` sockets (SCM_RIGHTS): TCP, non-blocking, not connected,
// of the sandbox's network namespace. The supervisor connects them.

inline constexpr char kOrderMessage = 'o';
inline constexpr char kInputMessage = 'i';
inline constexpr char kKillMessage = 'k';
inline constexpr char kSignalMessage = 's';
inline constexpr char kLeaseMessage = 'l';
inline constexpr char kCommandMessage = 'c';
inline constexpr char kStateMessage = 'h';
inline constexpr char kCloneMessage = 'n';
inline constexpr char kForwardMessage = 'f';

inline constexpr char kSocketsIpv4 = '4';
inline constexpr char kSocketsIpv6 = '6';
inline constexpr std::size_t kSocketsAtOnce = 8;
struct SocketsReply {
  std::int32_t error = 0;  // errno, if not all could be made
  std::uint32_t count = 0;
};

inline constexpr std::size_t kCommandDescriptors = 4;
inline constexpr int kStateDescriptor = 83;  // a number that scripts are unlikely to use

// The settings of one clone that differ between clones of the same template.
struct CloneRequest {
  std::uint64_t tmp_bytes =
      0;  // size of each tmpfs of the clone (kStepTmpfs); 0: the kernel's default
};

// The descriptor that a launcher is started with besides 0, 1 and 2.
inline constexpr int kControlDescriptor = 3;

enum class ReportKind : std::uint32_t {
  kReady = 1,    // all checks passed; carries the launcher's pidfd (SCM_RIGHTS) if pidfd_open(2)
                 // works
  kRefused = 2,  // a required layer is not in force or the order is bad: `error`, `text`
  kFailed = 3,   // execve(2) of the command failed with `error`
  kExited = 4,   // the command ended: `wait_status` and usage; all its processes are gone except,
                 // in a pid namespace, the launcher
  kAwaitingOrder = 5,  // set-up is done and no order has come yet, or an end came in its place;
                       // carries the launcher's pidfd
  kTerminal = 6,       // before kReady: carries the master side of the command's terminal
  kMade = 7,           // carries the descriptors that a step made (order.h), in step order
  kObserved = 8,       // from kReady on: records of what the command was refused follow (below)
};

// True if the report is the last one of a run.
constexpr bool IsLast(ReportKind kind) {
  return kind == ReportKind::kRefused || kind == ReportKind::kFailed || kind == ReportKind::kExited;
}

struct Report {
  ReportKind kind = ReportKind::kReady;
  std::int32_t error = 0;           // errno
  std::int32_t wait_status = 0;     // as waitpid(2) returns it
  LayerSet enforced = {};           // kReady: the layers of kLayersOfLauncher that are in force
  std::uint32_t not_found = 0;      // kFailed: 1 = the command does not exist (127), 0 = 126
  std::uint32_t no_directory = 0;   // kRefused: 1 = the order's directory can't be entered
  std::uint32_t shared_mounts = 0;  // kRefused: 1 = kOrderOwnMounts does not hold
  std::uint32_t no_clone = 0;       // kRefused: 1 = a clone could not be made; no order was read
  std::uint32_t killed = 0;         // kExited: 1 = a process of the tree had to be killed
  std::uint32_t lease_expired = 0;  // kExited: 1 = the lease ended the command or its start
  std::uint32_t used_network = 0;   // kReady: 1 = another clone had the network namespace before
  std::uint32_t reserved = 0;
  std::uint64_t at_ns = 0;  // CLOCK_MONOTONIC: end of the command (kExited), else now
  std::uint64_t user_cpu_us = 0;
  std::uint64_t system_cpu_us = 0;
  std::uint64_t peak_memory_bytes = 0;  // largest resident set of any one process of the tree
  std::uint64_t omitted = 0;            // kObserved: number of observations dropped so far
  char text[128] = {};                  // kRefused: the reason, NUL-terminated
};

// Observations: what the launcher saw the command being refused. A message of kind kObserved is a
// Report followed by such records, each followed by its texts, without NULs. The command chooses
// the paths, so they are hints for people. Malformed records are dropped.

enum class ObservationKind : std::uint8_t {
  kRead = 1,
  kWrite = 2,
  kExec = 3,
  kConnect = 4,
  kBind = 5,
  kOther = 6,
};

struct ObservationRecord {
  std::uint16_t size = 0;  // of the record and its texts, rounded up to kObservationAlignment
  ObservationKind kind = ObservationKind::kOther;
  std::uint8_t by_filter = 0;  // 1 = the launcher's own seccomp filter refused it
  std::int32_t error = 0;      // errno
  std::uint32_t count = 0;     // number of equal observations
  std::uint16_t reserved = 0;
  std::uint16_t call_size = 0;
  std::uint16_t path_size = 0;
  std::uint16_t second_path_size = 0;
  std::uint16_t address_size = 0;  // a socket address in the kernel's layout
  std::uint16_t program_size = 0;
  std::uint64_t argument = 0;  // the flags, mode, or family passed to the call
};
static_assert(sizeof(ObservationRecord) == 32);

inline constexpr std::size_t kObservationAlignment = 8;
inline constexpr std::size_t kMostCallName = 32;
inline constexpr std::size_t kMostObservedPath = 4096;
inline constexpr std::size_t kMostObservedAddress = 112;
inline constexpr std::size_t kMostProgramName = 16;
inline constexpr std::size_t kMostObservation = sizeof(ObservationRecord) + kMostCallName +
                                                2 * kMostObservedPath + kMostObservedAddress +
                                                kMostProgramName + kObservationAlignment;

// Bytes of the records in one message. A message ends before it exceeds kObservedMessage, unless
// one record is larger; the kernel rounds a message's memory up to the next power of two.
// kMostInObserved bounds every message.
inline constexpr std::size_t kObservedMessage = 7168;
inline constexpr std::size_t kMostInObserved = 16384;
static_assert(kMostObservation < kMostInObserved);

}  // namespace native_runner
