#pragma once

#include <string>
#include <vector>

#include "policy/options/policy.h"
#include "policy/options/validate.h"
#include "policy/result.h"

namespace native_runner {

// Returns what the caller's extra Firejail options (firejail(1)) let a command do or see, and which
// layers they undo. Each option is one word, unlike bwrap's, so an unknown option can't swallow
// another: it is passed on and counts as one that opens. The launcher checks what is in force and
// so catches the layers that an unknown option undoes.
std::vector<ExtraArg> FirejailExtraArgs(const std::vector<std::string>& words);

// Plans how Firejail (firejail(1)) confines files if the operator gives no profile. Firejail can't
// start from an empty root as bwrap does. So each directory of the host's root is hidden unless it
// may be read, and one that holds something to be shown is replaced by an empty directory with only
// that in it (--whitelist). Pure; all paths are absolute and real.

// The host's state that a plan depends on.
struct FirejailFacts {
  bool is_root = false;
  std::string workspace;
  std::string home;                  // the user's, from passwd(5); empty: none
  std::string shell;                 // the user's, from passwd(5); empty: /bin/sh
  std::vector<std::string> entries;  // of the root directory: "/home"; without symbolic links
  std::vector<std::string> read_dirs;
  std::vector<std::string> write_dirs;
  std::vector<std::string> secrets;  // to be hidden inside readable directories
};

struct FirejailPlan {
  std::vector<std::string> options;
  // Paths that the launcher then checks: they must no longer be the host's ...
  std::vector<std::string> hidden;
  // ... and these must be mounted read-only.
  std::vector<std::string> read_only;
};

// Returns kSetup, naming the path, if Firejail can't hide or show one.
Result<FirejailPlan> PlanFirejail(const FirejailFacts& facts);

// Returns all of Firejail's options, up to and including "--". Ignores `plan` if the policy has a
// profile, because the profile then confines files.
std::vector<std::string> FirejailOptions(const FirejailPolicy& policy, const FirejailPlan& plan);

}  // namespace native_runner
