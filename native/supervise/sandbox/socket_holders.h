#pragma once

#include <sys/types.h>

namespace native_runner {

// Kills every process that holds the socket `inode` as its descriptor kControlDescriptor: the parts
// of a bwrap that is stuck in its set-up, where killing bwrap alone leaves its children behind.
// Each is pinned by a pidfd and looked at again before it is signalled; also where /proc is that of
// an outer pid namespace, with other numbers than ours. Returns how many were found; call again
// until the control socket reports end of file, which is the proof. Reads /proc: meant for the rare
// case, not for each run. Any thread.
int KillSocketHolders(ino_t inode);

}  // namespace native_runner
