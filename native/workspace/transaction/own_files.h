#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "policy/result.h"
#include "supervise/os/descriptor.h"

namespace native_runner {

// TIME-ID: so that the names of what is kept are in the order of time (CLOCK_REALTIME,
// nanoseconds).
struct TimedName {
  std::uint64_t added_ns = 0;
  std::string id;
};
std::string TextOf(const TimedName& name);
std::optional<TimedName> TimedNameOf(const std::string& text);

// What was being written for as long as this was left by a process that died.
inline constexpr std::uint64_t kAbandonedNs = 3'600'000'000'000;  // an hour

// What a transaction keeps in its own directory, by names that nobody else changes. `directory` is
// open for reading. No link is followed at the last step. kSetup where the file system refuses. Any
// thread; blocks as the file system does.

Result<Descriptor> OpenOwn(int directory, const std::string& name);

// Makes an empty directory (0700), and opens it for reading.
Result<Descriptor> MakeOwn(int directory, const std::string& name);

// The same, or opens the one that is there.
Result<Descriptor> OpenOrMakeOwn(int directory, const std::string& name);

// Whether there is anything of this name: what can't be looked for is not what is missing.
Result<bool> HoldsOwn(int directory, const std::string& name);

// With all that is below; what is not there is no error. `may_stop`: it ends with an error once
// IsStopped(), and a part is left.
std::optional<Error> RemoveOwn(int directory, const std::string& name, bool may_stop = false);

std::optional<Error> RenameOwn(int directory, const std::string& from, const std::string& to);

}  // namespace native_runner
