#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/options/policy.h"

namespace native_runner {

using Variable = std::pair<std::string, std::string>;

// A variable that carries a secret, by its name (a whole word such as KEY, TOKEN or PASSWORD, words
// being runs of letters and digits; a listed name such as SSH_AUTH_SOCK) or by its value (a URL
// with user:password).
bool CarriesSecret(std::string_view name, std::string_view value);

// A variable that makes a loader, interpreter, shell or git run code of its choice (ld.so(8),
// node(1), bash(1), git(1)).
bool SteersLoader(std::string_view name);

// A variable that says which proxy to ask, or whom to reach without one.
bool NamesProxy(std::string_view name);

// What tells programs in a sandbox whose network is by domain of the proxy there, as "NAME=value".
// Most find their way without; those that resolve no names themselves ask a proxy only if told.
const std::vector<std::string>& OwnProxyVariables();

// Those of the host's variables that the policy lets through, as "NAME=value", in their order. With
// policy.own_proxy, whichever the mode, OwnProxyVariables instead of what NamesProxy: the host's
// proxies can't be reached.
std::vector<std::string> PassedVariables(const EnvironmentPolicy& policy,
                                         const std::vector<Variable>& host);

// The command's environment as "NAME=value": `passed`, then `named` (always passed, the last of a
// name wins), then PWD=`cwd` unless `named` has it, and a default PATH when none is left. Sorted by
// nothing: the host's order, then the caller's.
std::vector<std::string> BuildEnvironment(const std::vector<std::string>& passed,
                                          const std::vector<Variable>& named, std::string_view cwd);

}  // namespace native_runner
