#include "policy/denials/observation.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "policy/network/ip_address.h"

namespace native_runner {
namespace {

using Named = std::pair<int, const char*>;
constexpr std::array kNames = {
    Named{EPERM, "EPERM"},
    Named{ENOENT, "ENOENT"},
    Named{ESRCH, "ESRCH"},
    Named{EAGAIN, "EAGAIN"},
    Named{ENOMEM, "ENOMEM"},
    Named{EACCES, "EACCES"},
    Named{EXDEV, "EXDEV"},
    Named{ENODEV, "ENODEV"},
    Named{ENOTDIR, "ENOTDIR"},
    Named{EINVAL, "EINVAL"},
    Named{EMFILE, "EMFILE"},
    Named{EFBIG, "EFBIG"},
    Named{ENOSPC, "ENOSPC"},
    Named{EROFS, "EROFS"},
    Named{ENOSYS, "ENOSYS"},
    Named{EOPNOTSUPP, "EOPNOTSUPP"},
    Named{EAFNOSUPPORT, "EAFNOSUPPORT"},
    Named{EADDRNOTAVAIL, "EADDRNOTAVAIL"},
    Named{ENETDOWN, "ENETDOWN"},
    Named{ENETUNREACH, "ENETUNREACH"},
    Named{ETIMEDOUT, "ETIMEDOUT"},
    Named{ECONNREFUSED, "ECONNREFUSED"},
    Named{EHOSTUNREACH, "EHOSTUNREACH"},
};

}  // namespace

std::string ErrorName(int error) {
  for (const auto& [number, name] : kNames) {
    if (number == error) return name;
  }
  return error == 0 ? "" : std::to_string(error);
}

namespace {

bool IsKnown(ObservationKind kind) {
  return kind >= ObservationKind::kRead && kind <= ObservationKind::kOther;
}

std::size_t TextSize(const ObservationRecord& record) {
  return std::size_t{record.call_size} + record.path_size + record.second_path_size +
         record.address_size + record.program_size;
}

bool IsWellFormed(const ObservationRecord& record, std::size_t left) {
  return record.size <= left && record.size % kObservationAlignment == 0 && IsKnown(record.kind) &&
         record.by_filter <= 1 && record.error > 0 && record.count > 0 && record.call_size > 0 &&
         record.call_size <= kMostCallName && record.path_size <= kMostObservedPath &&
         record.second_path_size <= kMostObservedPath &&
         record.address_size <= kMostObservedAddress && record.program_size <= kMostProgramName &&
         sizeof record + TextSize(record) <= record.size;
}

std::string TakeText(const std::byte** at, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(*at), size);
  *at += size;
  return text;
}

// Families and sizes of Linux socket addresses (ip(7), ipv6(7), unix(7)). Defined here because only
// rooms that call the kernel include its headers.
constexpr std::uint16_t kFamilyUnix = 1;
constexpr std::uint16_t kFamilyIpv4 = 2;
constexpr std::uint16_t kFamilyIpv6 = 10;
constexpr std::size_t kIpv4Size = 8;
constexpr std::size_t kIpv6Size = 24;

std::string Family(std::uint16_t family) {
  return "family:" + std::to_string(family);
}

void ReadAddress(std::string_view bytes, Observation* made) {
  const auto at = [bytes](std::size_t index) { return static_cast<std::uint8_t>(bytes[index]); };
  std::uint16_t family = 0;
  if (bytes.size() < sizeof family) return;
  std::memcpy(&family, bytes.data(), sizeof family);
  const bool is_v4 = family == kFamilyIpv4 && bytes.size() >= kIpv4Size;
  const bool is_v6 = family == kFamilyIpv6 && bytes.size() >= kIpv6Size;
  if (is_v4 || is_v6) made->port = static_cast<std::uint16_t>(at(2) << 8U | at(3));
  if (is_v4) {
    const std::uint32_t high = std::uint32_t{at(4)} << 24U | std::uint32_t{at(5)} << 16U;
    made->address = IpText(IpAddress::V4(high | std::uint32_t{at(6)} << 8U | at(7)));
  } else if (is_v6) {
    IpAddress::V6Bytes number{};
    std::memcpy(number.data(), bytes.data() + 8, number.size());
    made->address = IpText(IpAddress::V6(number));
  } else if (family == kFamilyUnix) {
    // An abstract name: any bytes, after a NUL.
    made->address = "unix:@";
    if (bytes.size() > 3) made->address += bytes.substr(3);
  } else {
    made->address = Family(family);
  }
}

Observation ObservationOf(const ObservationRecord& record, const std::byte* texts) {
  Observation made;
  made.kind = record.kind;
  made.error = record.error;
  made.by_filter = record.by_filter != 0;
  made.argument = record.argument;
  made.count = record.count;
  made.call = TakeText(&texts, record.call_size);
  made.path = TakeText(&texts, record.path_size);
  made.second_path = TakeText(&texts, record.second_path_size);
  ReadAddress(TakeText(&texts, record.address_size), &made);
  made.program = TakeText(&texts, record.program_size);
  return made;
}

}  // namespace

std::vector<Observation> ReadObservations(std::span<const std::byte> bytes) {
  std::vector<Observation> read;
  while (bytes.size() >= sizeof(ObservationRecord)) {
    ObservationRecord record;
    std::memcpy(&record, bytes.data(), sizeof record);
    if (!IsWellFormed(record, bytes.size())) break;
    read.push_back(ObservationOf(record, bytes.data() + sizeof record));
    bytes = bytes.subspan(record.size);
  }
  return read;
}

}  // namespace native_runner
