#pragma once

#include "protocol/report.h"

namespace native_runner {

// What the host asks a template for. The descriptors are close-on-exec, the receiver's to close.
struct AskedClone {
  CloneRequest request;
  int at[kCommandDescriptors] = {-1, -1, -1, -1};  // control socket, stdin, stdout, stderr
  int cgroup = -1;                                 // the directory it is to be born into, or none

  void Close();
};

enum class NextClone { kAsked, kEnd };

// Waits for what the host says next on the template's control socket. kEnd: the host's end, or
// anything that is no whole request.
NextClone ReceiveClone(AskedClone* asked);

}  // namespace native_runner
