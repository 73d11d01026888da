#pragma once

#include <string>
#include <vector>

#include "policy/options/extra_args.h"
#include "policy/options/policy.h"
#include "policy/result.h"

namespace native_runner {

// What options of Firejail's (firejail(1)) that a caller adds to ours let a command do or see, and
// which of our layers they undo. Unlike bwrap's they are one word each, so an unknown one can't
// swallow another: it is passed on, and counts as one that opens. What it may undo all the same is
// left to the launcher, which looks at what is in force.
std::vector<ExtraArg> FirejailExtraArgs(const std::vector<std::string>& words);

// How Firejail (firejail(1)) is to confine files where no profile of the operator's does. It can't
// start from an empty root as bwrap does: each directory of the host's root is hidden, unless it is
// one that may be read, and one that holds something to be shown is replaced by an empty one with
// that alone in it (--whitelist). Pure; all paths are absolute and real.

// What a plan depends on.
struct FirejailFacts {
  bool is_root = false;
  std::string workspace;
  std::string home;                  // the user's, as passwd(5) has it; empty: none
  std::string shell;                 // the same; empty: /bin/sh
  std::vector<std::string> entries;  // of the root directory: "/home"; without symbolic links
  std::vector<std::string> read_dirs;
  std::vector<std::string> write_dirs;
  std::vector<std::string> secrets;  // to be hidden among what may be read
};

struct FirejailPlan {
  std::vector<std::string> options;
  // What the launcher then checks: these are no longer the host's ...
  std::vector<std::string> hidden;
  // ... and these are mounted read-only.
  std::vector<std::string> read_only;
};

// kSetup, naming the path, for what Firejail can't be told to hide or to show.
Result<FirejailPlan> PlanFirejail(const FirejailFacts& facts);

// All of firejail's options, up to and with the "--". `plan` is ignored where the policy has a
// profile: it is that which confines files then.
std::vector<std::string> FirejailOptions(const FirejailPolicy& policy, const FirejailPlan& plan);

}  // namespace native_runner
