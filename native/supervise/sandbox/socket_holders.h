#pragma once

#include <sys/types.h>

#include <vector>

#include "supervise/os/descriptor.h"

namespace native_runner {

// Kills every process that holds the socket `inode` as its descriptor kControlDescriptor: the parts
// of a bwrap that is stuck in its set-up, where killing bwrap alone leaves its children behind.
// Each is pinned by a pidfd and looked at again before it is signalled; also where /proc is that of
// an outer pid namespace, with other numbers than ours. All are found before the first is killed: a
// child dies with its parent. Returns their pidfds; call again until the control socket reports end
// of file. A process lets go of that in the midst of its exit: that each pidfd shows its end, too,
// is the proof. Reads /proc: meant for the rare case, not for each run. Any thread.
std::vector<Descriptor> KillSocketHolders(ino_t inode);

}  // namespace native_runner
