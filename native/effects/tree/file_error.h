#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "policy/result.h"

namespace native_runner {

// Why an operation on a file came to nothing. A plain value; the addon makes Node's error of it.
struct FileError {
  enum class Kind {
    kSystem,    // the kernel refused, or would have: `number`
    kTooLarge,  // a file has more bytes than `most`
    kTooMany,   // a directory has more entries than `most`
    kChanged,   // a file is not the one that it was to be
    kSandbox,   // this host can't do it safely, or there is no workspace: `sandbox`
  };
  Kind kind = Kind::kSystem;
  int number = 0;             // of errno(3)
  const char* call = "open";  // Node's `syscall`
  std::uint64_t most = 0;
  Error sandbox;
  // Relative to the workspace, where it is another entry's than the one that was named.
  std::optional<std::string> path;
};

template <typename T>
using FileResult = Result<T, FileError>;

// What an operation without a value results in.
struct Done {};

// The kernel's refusal of `call`.
FileError Refused(const char* call, int number);

// openat2(2), or /proc, can't be had: a kSandbox that says why.
FileError Unavailable(std::string message, std::string fix);

}  // namespace native_runner
