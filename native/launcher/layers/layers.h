#pragma once

#include "launcher/order/order.h"
#include "protocol/layer.h"
#include "protocol/order.h"

namespace native_runner {

// Empties the bounding, ambient and ordinary capability sets (capabilities(7)).
// CheckNoCapabilities() detects capabilities that could not be dropped.
void DropCapabilities();

// Refuses with "no-capabilities" unless the effective, permitted and inheritable sets are empty.
bool CheckNoCapabilities(Refusal* refusal);

// Checks the order's rules of kinds kRuleHidden, kRuleShown and kRuleReadOnly: a program that
// should have hidden files, or mounted them read-only, may have done so in part. Refuses with the
// layer and the first path that breaks its rule. True if the order has no kOrderCheckFiles.
bool CheckFiles(const MappedOrder& order, Refusal* refusal);

// Sets the order's resource limits on the calling process, soft and hard alike, except that CPU
// time has a second between SIGXCPU and SIGKILL. A limit that is already stricter stays. Returns
// nullptr, or the name of the refused limit with the -errno in `result`.
const char* ApplyLimits(const OrderHeader& order, long* result);

// Checks that the order's flags hold, and applies the layers that a process puts on itself for
// good: drops capabilities, sets no_new_privs, becomes the subreaper. False: `refusal` names the
// first missing layer. The seccomp filter is the command's alone (see command.h). Together with
// no_new_privs, empty capability sets stay empty in the command too, also for uid 0.
bool EnterLayers(const OrderHeader& order, Refusal* refusal);

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
