#include "addon/convert/input/limits.h"

#include "policy/options/validate.h"

namespace native_runner {
namespace {

void ReadLimit(Fields& limits, const char* key, auto* into) {
  const auto number = limits.Number(key);
  if (!number) return;
  const auto value = LimitValue(*number, limits.Label(key));
  if (value) {
    *into = value.value();
  } else {
    limits.reader().Fail(value.error());
  }
}

}  // namespace

Limits ReadLimits(Fields& limits, std::optional<std::uint64_t> deadline) {
  Limits read;
  read.timeout_ms = deadline;
  ReadLimit(limits, "maxStdoutBytes", &read.max_stdout_bytes);
  ReadLimit(limits, "maxStderrBytes", &read.max_stderr_bytes);
  ReadLimit(limits, "memoryBytes", &read.memory_bytes);
  ReadLimit(limits, "cpuSeconds", &read.cpu_seconds);
  ReadLimit(limits, "maxProcesses", &read.max_processes);
  ReadLimit(limits, "maxOpenFiles", &read.max_open_files);
  ReadLimit(limits, "maxFileBytes", &read.max_file_bytes);
  if (const auto number = limits.Number("timeoutMs")) {
    const auto timeout = TimeoutValue(*number);
    if (timeout) {
      read.timeout_ms = timeout.value();
    } else {
      limits.reader().Fail(timeout.error());
    }
  }
  if (limits.OneOf("keep", {"head", "head+tail"}) == 1) read.keep = Keep::kHeadTail;
  return read;
}

}  // namespace native_runner
