#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/result.h"
#include "protocol/layer.h"

namespace native_runner {

// bwrap options that a caller adds (bwrap(1)). They are passed on unchanged, so each has to be
// known here: its number of operands, since otherwise it could swallow the words that follow it,
// and the layers that it undoes.

// One option with its operands, and the layers that are no longer in force with it.
struct ExtraArg {
  std::string text;    // as in an audit: "--bind / /"
  bool opens = false;  // it lets the command do or see more than without it
  LayerSet undone;
};

// True if a mount of or at `path` replaces, holds or lies in one of the system's directories, which
// are otherwise read-only.
bool TouchesSystem(std::string_view path);

// Returns kInvalidValue, naming the element, for a word that is not a bwrap option, lacks operands,
// or can't be passed on (--args, and any option that takes a descriptor).
std::optional<Error> CheckExtraArgs(const std::vector<std::string>& words);

// Returns kInvalidValue for an option that would take a sandbox out of the network namespace made
// for it, which a network by domain needs. `words` have passed CheckExtraArgs.
std::optional<Error> CheckKeepsNetwork(const std::vector<std::string>& words);

// Returns how `words`, which have passed CheckExtraArgs, change the sandbox.
std::vector<ExtraArg> ExtraArgs(const std::vector<std::string>& words);

}  // namespace native_runner
