#pragma once

namespace native_runner {

// Puts a filter on the calling process, for good, by which each call of kTracedCalls stops for its
// tracer (SECCOMP_RET_TRACE in seccomp(2)), its index in RET_DATA. Without a tracer they end with
// ENOSYS. Those that only look for a file stop with `has_look_ups` alone. Returns 0 or -errno.
long InstallTraceFilter(bool has_look_ups);

}  // namespace native_runner
