#pragma once

namespace native_runner {

// Whether the host's program still has a quarter of its descriptors (RLIMIT_NOFILE), by one that
// was just opened: the kernel gives out the lowest number that is free. Connections of sandboxes
// stop there, so that no command can take the files, the runs and the network of the program away.
bool LeavesDescriptors(int descriptor);

}  // namespace native_runner
