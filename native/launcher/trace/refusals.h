#pragma once

#include <linux/seccomp.h>

#include "launcher/trace/observations.h"

namespace native_runner {

// Answers what the filter of rules.h refuses, as that filter would have, and tells of it. Nothing
// of it is ever left to the kernel: who asked could have changed it by then.
class Refusals {
 public:
  explicit Refusals(Observations* observations) : observations_(observations) {}
  ~Refusals();
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  // Takes the descriptor of a listener, ours from here on.
  void Listen(int listener) { listener_ = listener; }

  // Readable when Look has something to do; -1: nobody is listened to.
  int descriptor() const { return listener_; }

  // Answers what waits; a bounded number at once.
  void Look();

  // What another listener of ours was asked. False: it is no call that is refused.
  bool Answer(int listener, const seccomp_notif& call);

 private:
  Observations* observations_;
  int listener_ = -1;
};

}  // namespace native_runner
