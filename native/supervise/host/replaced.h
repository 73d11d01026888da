#pragma once

#include <ctime>
#include <string>
#include <vector>

namespace native_runner {

// Whether one of these paths is gone, or leads to a file whose inode has changed since then
// (CLOCK_REALTIME), as when another was renamed over it. Of directories only that they are there:
// they change with every entry. Looks at the host; what is seen may have been so shortly before.
bool AnyReplacedSince(const std::vector<std::string>& paths, const timespec& since);

}  // namespace native_runner
