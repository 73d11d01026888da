#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/layer.h"

namespace native_runner {

// What the launcher tells the supervisor, one record per message on the control socket
// (SOCK_SEQPACKET). The supervisor tells the launcher: one message with the order, as bytes after
// kOrderMessage or in a file that comes with it (SCM_RIGHTS), later at most one byte kKillMessage,
// which may also come instead of the order. kInputMessage with a descriptor, before the order,
// replaces stdin. kSignalMessage and a byte, a signal's number, any time after the order: for the
// command's process group (kOrderOwnSession). kLeaseMessage and eight bytes, a std::uint64_t, any
// time after an order with a lease: the lease now holds until then (OrderHeader::lease_until_ns).
//
// To a session (kOrderSession) it says kCommandMessage, with kCommandDescriptors: the launcher's
// end of a command's own control socket, on which all the above goes on as ever; stdin, stdout,
// stderr. In a shell session, kStateMessage with a descriptor, before the order, hands over the
// shell's state, which the command finds as kStateDescriptor.

inline constexpr char kOrderMessage = 'o';
inline constexpr char kInputMessage = 'i';
inline constexpr char kKillMessage = 'k';
inline constexpr char kSignalMessage = 's';
inline constexpr char kLeaseMessage = 'l';
inline constexpr char kCommandMessage = 'c';
inline constexpr char kStateMessage = 'h';
inline constexpr char kCloneMessage = 'n';

inline constexpr std::size_t kCommandDescriptors = 4;
inline constexpr int kStateDescriptor = 83;  // one that no script is likely to use

// How one clone differs from the others of its template.
struct CloneRequest {
  std::uint64_t tmp_bytes =
      0;  // the size of each of its tmpfs (kStepTmpfs); 0: the kernel's default
};

// The descriptors that a launcher is started with besides 0, 1 and 2.
inline constexpr int kControlDescriptor = 3;

enum class ReportKind : std::uint32_t {
  kReady = 1,    // carries our pidfd (SCM_RIGHTS) when pidfd_open(2) works; all checks passed
  kRefused = 2,  // a required layer is not in force or the order is bad: `error`, `text`
  kFailed = 3,   // execve(2) of the command failed with `error`
  kExited = 4,   // the command ended: `wait_status` and usage; nothing of the tree is left
                 // except, in a pid namespace, ourselves
  kAwaitingOrder =
      5,          // set-up is over, no order has come yet, or an end in its place; has our pidfd
  kTerminal = 6,  // before kReady: carries the master side of the command's terminal
  kMade = 7,      // carries what a step has made (order.h), in the order of the steps
  kObserved = 8,  // from kReady on: what the command was refused follows it (below)
};

// Whether it is the last word of a run.
constexpr bool IsLast(ReportKind kind) {
  return kind == ReportKind::kRefused || kind == ReportKind::kFailed || kind == ReportKind::kExited;
}

struct Report {
  ReportKind kind = ReportKind::kReady;
  std::int32_t error = 0;           // errno
  std::int32_t wait_status = 0;     // as waitpid(2) gives it
  LayerSet enforced = {};           // kReady: of kLayersOfLauncher, those that are in force
  std::uint32_t not_found = 0;      // kFailed: 1 = the command does not exist (127), 0 = 126
  std::uint32_t no_directory = 0;   // kRefused: 1 = the order's directory can't be entered
  std::uint32_t shared_mounts = 0;  // kRefused: 1 = kOrderOwnMounts does not hold
  std::uint32_t no_clone = 0;       // kRefused: 1 = a clone could not be made; no order was read
  std::uint32_t killed = 0;         // kExited: 1 = a process of the tree had to be killed
  std::uint32_t lease_expired = 0;  // kExited: 1 = that is why, or why no command was started
  std::uint64_t at_ns = 0;          // CLOCK_MONOTONIC: the command's own end (kExited), else now
  std::uint64_t user_cpu_us = 0;
  std::uint64_t system_cpu_us = 0;
  std::uint64_t peak_memory_bytes = 0;  // largest resident set of any one process of the tree
  std::uint64_t omitted = 0;            // kObserved: how many more there were until now
  char text[128] = {};                  // kRefused: what, NUL-terminated
};

// What a command was refused, as the launcher saw it: a message of kind kObserved is a Report
// followed by such records, each followed by its texts, without NULs. The paths are the command's
// to choose: hints, for people. What can't be read is dropped.

enum class ObservationKind : std::uint8_t {
  kRead = 1,
  kWrite = 2,
  kExec = 3,
  kConnect = 4,
  kBind = 5,
  kOther = 6,
};

struct ObservationRecord {
  std::uint16_t size = 0;  // of it and its texts, rounded up to kObservationAlignment
  ObservationKind kind = ObservationKind::kOther;
  std::uint8_t by_filter = 0;  // 1 = the launcher's own seccomp filter has refused it
  std::int32_t error = 0;      // errno
  std::uint32_t count = 0;     // how many alike
  std::uint16_t reserved = 0;
  std::uint16_t call_size = 0;
  std::uint16_t path_size = 0;
  std::uint16_t second_path_size = 0;
  std::uint16_t address_size = 0;  // a socket address as the kernel has it
  std::uint16_t program_size = 0;
  std::uint64_t argument = 0;  // the flags, mode, or family that the call was made with
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

// Of the records in a message. Most are smaller: a message costs the kernel the next power of two.
inline constexpr std::size_t kObservedMessage = 7168;
inline constexpr std::size_t kMostInObserved = 16384;
static_assert(kMostObservation < kMostInObserved);

}  // namespace native_runner
