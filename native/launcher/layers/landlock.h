#pragma once

#include "launcher/order/order.h"
#include "protocol/layer.h"

namespace native_runner {

// A Landlock rule set (Documentation/userspace-api/landlock.rst), made from the order's rules.
// Applied to the command's process alone, so that with scoped signals the command can't signal the
// launcher. Refuses everything that this kernel's Landlock can refuse, except what the rules allow.
class Landlock {
 public:
  // Opens the rules' paths and makes the set. False: `refusal` names what the kernel lacks, or the
  // missing path.
  bool Prepare(const MappedOrder& order, Refusal* refusal);

  // Replaces Prepare() if the policy has no Landlock: makes a set that only keeps commands from
  // tracing and signalling one another and, in a session, from writing to files in /proc. Does
  // nothing where the kernel can't.
  bool PrepareSeparation(const OrderHeader& order, Refusal* refusal);

  // Lets the calling process read the files of its own that programs look for in /proc/self, if
  // Prepare() made the set without a rule for all of /proc. A rule names a file that is there, so
  // the processes that it starts later can't read theirs. Without effect where there is no /proc,
  // and in a session: its commands share the set, which would grow, and open each one's files to
  // the others.
  void AllowOwnProcess() const;

  // Applies the set to the calling process, the command's, which must have no_new_privs. Returns 0
  // or -errno.
  long Enter() const;

  // Layers that the set enforces.
  LayerSet enforced() const { return enforced_; }

 private:
  bool AddRules(const MappedOrder& order, Refusal* refusal);

  int ruleset_ = -1;
  std::uint64_t handled_ = 0;
  bool has_proc_ = false;   // a rule is for all of /proc
  bool is_shared_ = false;  // by the commands of a session
  LayerSet enforced_;
};

}  // namespace native_runner
