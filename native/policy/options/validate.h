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

namespace native_runner {

// The one of `known` that `name` was most likely meant to be; empty when none is close. Of a path
// ("limits.timeoutMs") the last part counts. Case and what is neither letter nor digit do not
// matter. Close is at most a third of the name away, and 2 anyway (Levenshtein); else a name that
// contains the other. lib/fields.ts is the same.
std::string_view NearestName(std::string_view name, std::span<const std::string_view> known);

// The fault of a field that nobody reads, since one that is ignored may be a protection,
// misspelled. `place` is what messages call its object. `known` are the names there are, those of
// objects inside as paths ("limits.timeoutMs"). lib/fields.ts says the same.
Error UnknownField(std::string_view name, std::string_view place,
                   std::span<const std::string_view> known);

// Value checks that need no JavaScript: NUL bytes, emptiness, names, ranges. Type checks are the
// addon's. Each returns the first fault; the message names `field`.
std::optional<Error> CheckText(std::string_view value, std::string_view field);  // no NUL
std::optional<Error> CheckPath(std::string_view value, std::string_view field);  // + not empty
std::optional<Error> CheckAbsolutePath(std::string_view value, std::string_view field);
std::optional<Error> CheckPlainPath(std::string_view value, std::string_view field);  // + no ".."
std::optional<Error> CheckAbsolutePaths(const std::vector<std::string>& paths,
                                        std::string_view list);  // each CheckPlainPath
// A bare name or an absolute path.
std::optional<Error> CheckProgram(std::string_view path, std::string_view field);
std::optional<Error> CheckArgv(
    const std::vector<std::string>& argv);  // "NativeRunner.exec: argv[0] is required"
std::optional<Error> CheckVariable(const Variable& variable);  // env name: not empty, no '=' or NUL
std::optional<Error> CheckPolicy(const BubblewrapPolicy& policy);
std::optional<Error> CheckPolicy(const LandlockPolicy& policy);
std::optional<Error> CheckPolicy(const FirejailPolicy& policy);
std::optional<Error> CheckPolicy(const LocalPolicy& policy);

// A JavaScript number for a limit: an integer from 0 to 2^53-1.
Result<std::uint64_t> LimitValue(double value, std::string_view field);

// limits.timeoutMs: > 0; Infinity and anything beyond 2^53 ms mean "no deadline"; rounded up to
// a whole millisecond.
Result<std::optional<std::uint64_t>> TimeoutValue(double value);

}  // namespace native_runner
