#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "protocol/layer.h"

namespace native_runner {

// Options of bwrap's that a caller adds to ours (bwrap(1)). They are passed on as they are, so each
// has to be known here: how many words it takes, or it could swallow the ones that follow it, and
// which of our layers it undoes.

// One option with its operands, and the layers that are no longer in force with it.
struct ExtraArg {
  std::string text;    // as in an audit: "--bind / /"
  bool opens = false;  // it lets the command do or see more than without it
  LayerSet undone;
};

// Whether a mount of or at `path` replaces, holds or lies in one of the system's directories, which
// are otherwise read-only.
bool TouchesSystem(std::string_view path);

// kInvalidValue, naming the element, for what is no option of bwrap's, lacks operands, or can't be
// passed on (--args, and whatever takes a descriptor).
std::optional<Error> CheckExtraArgs(const std::vector<std::string>& words);

// The same for what would take a sandbox out of the network namespace that was made for it, as a
// network by domain needs it. `words`: they were checked.
std::optional<Error> CheckKeepsNetwork(const std::vector<std::string>& words);

// What `words`, which were checked, do to the sandbox.
std::vector<ExtraArg> ExtraArgs(const std::vector<std::string>& words);

}  // namespace native_runner
