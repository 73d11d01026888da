#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/options/environment.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "policy/result.h"
#include "protocol/layer.h"

namespace native_runner {

// Returns the name in `known` that `name` was most likely meant to be; empty if none is close.
// Compares the last part of a path ("limits.timeoutMs"). Ignores case and all but letters and
// digits. A name is close within a third of its length, or 2 if that is more (Levenshtein);
// otherwise a name that contains the other counts. lib/fields.ts uses the same rule.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> known);

// Returns the fault of an unknown field. Such a field is refused because it may be a misspelled
// protection. `place` is the name of its object in messages. `known` are the valid names; those of
// nested objects are paths ("limits.timeoutMs"). lib/fields.ts has the same text.
Error UnknownField(std::string_view name, std::string_view place,
                   std::span<const std::string_view> known);

// Checks of values that need no JavaScript: NUL bytes, emptiness, names, ranges. The addon checks
// types. Each function returns the first fault; the message names `field`.
std::optional<Error> CheckText(std::string_view value, std::string_view field);  // no NUL
std::optional<Error> CheckPath(std::string_view value, std::string_view field);  // + not empty
std::optional<Error> CheckAbsolutePath(std::string_view value, std::string_view field);
std::optional<Error> CheckPlainPath(std::string_view value, std::string_view field);  // + no ".."
std::optional<Error> CheckAbsolutePaths(const std::vector<std::string>& paths,
                                        std::string_view list);  // each CheckPlainPath
// Accepts a bare name or an absolute path.
std::optional<Error> CheckProgram(std::string_view path, std::string_view field);
std::optional<Error> CheckArgv(
    const std::vector<std::string>& argv);  // "NativeRunner.exec: argv[0] is required"
std::optional<Error> CheckVariable(const Variable& variable);  // env name: not empty, no '=' or NUL
std::optional<Error> CheckPolicy(const BubblewrapPolicy& policy);
std::optional<Error> CheckPolicy(const LandlockPolicy& policy);
std::optional<Error> CheckPolicy(const FirejailPolicy& policy);
std::optional<Error> CheckPolicy(const LocalPolicy& policy);

// Converts a JavaScript number to a limit: an integer from 0 to 2^53-1.
Result<std::uint64_t> LimitValue(double value, std::string_view field);

// Converts limits.timeoutMs: > 0, rounded up to a whole millisecond. Infinity and anything beyond
// 2^53 ms mean "no deadline".
Result<std::optional<std::uint64_t>> TimeoutValue(double value);

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
