#pragma once

#include <string_view>

namespace native_runner {

// Whether by `table`, the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)), a mount gets what is
// mounted elsewhere, or gives others what is mounted on it: MS_SHARED and MS_SLAVE in mount(2). A
// line of another form counts as one that does. Pure.
bool HasSharedMount(std::string_view table);

}  // namespace native_runner
