#pragma once

#include <cstdint>
#include <optional>

namespace native_runner {

enum class Keep { kHead, kHeadTail };

// What one run may use. Bytes, seconds and milliseconds as the names say; an empty optional means
// "no limit". The byte caps and the deadline are kept by the supervisor, the rest by the launcher
// (setrlimit(2)) or a cgroup.
struct Limits {
  std::uint64_t max_stdout_bytes = 1'048'576;
  std::uint64_t max_stderr_bytes = 1'048'576;
  std::optional<std::uint64_t> timeout_ms = 60'000;
  Keep keep = Keep::kHead;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> cpu_seconds;
  std::optional<std::uint64_t> max_processes;
  std::optional<std::uint64_t> max_open_files;
  std::optional<std::uint64_t> max_file_bytes;
};

}  // namespace native_runner
