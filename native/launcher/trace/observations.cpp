#include "launcher/trace/observations.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "launcher/kernel/calls.h"
#include "launcher/kernel/process.h"
#include "launcher/seccomp/seccomp.h"

namespace native_runner {
namespace {

std::uint16_t AddText(const Observations::Text& text, std::size_t most, std::byte** at) {
  const std::size_t size = std::min(text.size, most);
  std::memcpy(*at, text.bytes, size);
  *at += size;
  return static_cast<std::uint16_t>(size);
}

// FNV-1a, by words, as records are padded.
std::uint32_t HashOf(const std::byte* bytes, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t at = 0; at < size; at += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29U;
  }
  return static_cast<std::uint32_t>(hash ^ (hash >> 32U));
}

}  // namespace

// Encodes with a `count` of 0, so that equal observations have equal bytes.
std::size_t Observations::Encode(const Seen& seen, std::byte* bytes) const {
  ObservationRecord record;
  std::byte* at = bytes + sizeof record;
  record.kind = seen.kind;
  record.by_filter = seen.by_filter ? 1 : 0;
  record.error = seen.error;
  record.argument = seen.argument;
  record.call_size = AddText({seen.call, std::strlen(seen.call)}, kMostCallName, &at);
  record.path_size = AddText(seen.path, kMostObservedPath, &at);
  record.second_path_size = AddText(seen.second_path, kMostObservedPath, &at);
  record.address_size = AddText(seen.address, kMostObservedAddress, &at);
  record.program_size = AddText(seen.program, kMostProgramName, &at);
  while ((at - bytes) % static_cast<std::ptrdiff_t>(kObservationAlignment) != 0)
    *at++ = std::byte{0};
  record.size = static_cast<std::uint16_t>(at - bytes);
  std::memcpy(bytes, &record, sizeof record);
  return record.size;
}

void Observations::Add(const Seen& seen) {
  alignas(kObservationAlignment) static std::byte bytes[kMostObservation];
  const std::size_t size = Encode(seen, bytes);
  const std::uint32_t hash = HashOf(bytes, size);
  constexpr std::size_t kCount = offsetof(ObservationRecord, count);
  for (std::size_t index = 0; index < count_; ++index) {
    if (hashes_[index] != hash) continue;
    std::byte* const kept = bytes_ + places_[index];
    std::uint32_t count = 0;
    std::memcpy(&count, kept + kCount, sizeof count);
    std::memcpy(bytes + kCount, &count, sizeof count);
    if (std::memcmp(kept, bytes, size) == 0) {
      count += count == UINT32_MAX ? 0 : 1;
      std::memcpy(kept + kCount, &count, sizeof count);
      return;
    }
  }
  const bool is_missing = seen.error == ENOENT;
  if (count_ == kMost || size > kMostBytes - bytes_used_ ||
      (is_missing && missing_bytes_ + size > kMostMissingBytes) ||
      (seen.by_filter && filtered_ == kMostFiltered)) {
    ++omitted_;
    return;
  }
  const std::uint32_t once = 1;
  std::memcpy(bytes + kCount, &once, sizeof once);
  std::memcpy(bytes_ + bytes_used_, bytes, size);
  hashes_[count_] = hash;
  places_[count_++] = static_cast<std::uint32_t>(bytes_used_);
  bytes_used_ += size;
  if (is_missing) missing_bytes_ += size;
  if (seen.by_filter) ++filtered_;
}

void Observations::Send(const HostChannel& control) {
  std::size_t from = 0;
  for (std::size_t index = 0; index < count_; ++index) {
    const std::size_t end = index + 1 < count_ ? places_[index + 1] : bytes_used_;
    const std::size_t next_end =
        index + 2 < count_ ? places_[index + 2] : (index + 1 < count_ ? bytes_used_ : 0);
    if (index + 1 < count_ && next_end - from <= kObservedMessage) continue;
    control.SendObserved(bytes_ + from, end - from, omitted_);
    from = end;
  }
  count_ = 0;
  bytes_used_ = 0;
}

namespace {

short WhatIsUp(int listener) {
  pollfd entry{listener, POLLIN, 0};
  const timespec now{};
  kernel::Poll(&entry, 1, &now);
  return entry.revents;
}

}  // namespace

Refusals::~Refusals() {
  if (listener_ >= 0) kernel::Close(listener_);
}

void Refusals::Look() {
  constexpr int kMostAtOnce = 32;
  for (int round = 0; round < kMostAtOnce && listener_ >= 0; ++round) {
    const short events = WhatIsUp(listener_);
    if ((events & POLLIN) != 0) {
      seccomp_notif call{};
      if (kernel::DeviceControl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0)
        Answer(listener_, call);
    } else if ((events & (POLLHUP | POLLERR)) != 0) {
      kernel::Close(listener_);
      listener_ = -1;
    } else {
      return;
    }
  }
}

namespace {

// True for a call that only the filter of kOrderNoSockets refuses.
bool MakesInternetSocket(const seccomp_data& call) {
  const int family = static_cast<int>(call.args[0]);
  return call.nr == SYS_socket && (family == AF_INET || family == AF_INET6);
}

}  // namespace

// The filter has already compared the arguments.
bool Refusals::Answer(int listener, const seccomp_notif& call) {
  const RefusedCall* const refused = FindRefusedCall(call.data.nr);
  seccomp_notif_resp answer{};
  answer.id = call.id;
  const int error = MakesInternetSocket(call.data) ? kNoInternetError
                    : refused == nullptr           ? EPERM
                                                   : refused->error;
  answer.error = -error;
  if (refused == nullptr && listener != listener_) return false;
  if (refused != nullptr) {
    char program[kMostProgramName];  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
    Observations::Seen seen;
    seen.by_filter = true;
    seen.error = error;
    seen.argument = call.data.args[refused->argument];
    seen.call = refused->name;
    seen.program = {program, ReadProgram(static_cast<pid_t>(call.pid), program, sizeof program)};
    observations_->Add(seen);
  }
  kernel::DeviceControl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  return true;
}

}  // namespace native_runner
