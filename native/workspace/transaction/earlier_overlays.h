#pragma once

#include <vector>

#include "supervise/os/descriptor.h"

namespace native_runner {

// The overlays that a transaction has unmounted. One lives on as long as a process anywhere has
// something of it: a command may have passed a descriptor on (SCM_RIGHTS), even of a directory or
// with O_PATH, which leads to files of the upper directory wherever these are moved. So none of
// them may become the host's file until all earlier overlays are gone. The kernel says so by
// IN_UNMOUNT (inotify(7)).
//
// `transaction`: its directory, open for reading. Its file `unmounted` says that no overlay was
// left when it was closed; without that file, as after a death, nothing is known for good. One
// owner, any thread.
class EarlierOverlays {
 public:
  // To be called before the first overlay of a transaction that another process has had.
  void Resume(int transaction);

  // To be called before an overlay is unmounted; `root` may be O_PATH.
  void Add(int root);

  // Returns true unless all are known to be gone. Never waits.
  bool MayHaveSome() const { return is_unknown_ || !queues_.empty(); }

  // Returns true if all are gone. Waits for that, half a second at most.
  bool AreGone();

  // To be called when the transaction is closed.
  void Close(int transaction);

 private:
  std::vector<Descriptor> queues_;  // of inotify, with the root of one overlay each
  bool is_unknown_ = false;
};

}  // namespace native_runner
