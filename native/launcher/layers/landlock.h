#pragma once

#include "launcher/order/order.h"
#include "protocol/layer.h"

namespace native_runner {

// Landlock (Documentation/userspace-api/landlock.rst): a set of rules made from the order's, to be
// put on the command's process alone, so that with scoped signals the command can't reach us.
// Everything that this kernel's Landlock can refuse is refused but for what the rules allow.
class Landlock {
 public:
  // Opens the rules' paths and makes the set. False: `refusal` names what the kernel lacks, or the
  // path that is missing.
  bool Prepare(const MappedOrder& order, Refusal* refusal);

  // In place of Prepare, for a session whose policy has no Landlock: a set that only keeps commands
  // from tracing and signalling one another. Nothing, where the kernel can't.
  bool PrepareSeparation(Refusal* refusal);

  // In the command's process, which must have no_new_privs. Returns 0 or -errno.
  long Enter() const;

  // What of it is in force.
  LayerSet enforced() const { return enforced_; }

 private:
  bool AddRules(const MappedOrder& order, Refusal* refusal);

  int ruleset_ = -1;
  std::uint64_t handled_ = 0;
  LayerSet enforced_;
};

}  // namespace native_runner
