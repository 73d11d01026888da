#pragma once

#include <cstddef>
#include <cstdint>

namespace native_runner {

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
