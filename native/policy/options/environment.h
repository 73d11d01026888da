#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/options/policy.h"

namespace native_runner {

using Variable = std::pair<std::string, std::string>;

// True if a variable carries a secret, by its name (a whole word such as KEY, TOKEN or PASSWORD,
// words being runs of letters and digits; a listed name such as SSH_AUTH_SOCK) or by its value (a
// URL with user:password).
bool CarriesSecret(std::string_view name, std::string_view value);

// True if a variable makes a loader, interpreter, shell or git run code of its choice (ld.so(8),
// node(1), bash(1), git(1)).
bool SteersLoader(std::string_view name);

// True if a variable names a proxy, or the hosts to reach without one.
bool NamesProxy(std::string_view name);

// Returns the variables, as "NAME=value", that name the proxy of a sandbox whose network is by
// domain. Most programs work without them; programs that resolve no names themselves need them.
const std::vector<std::string>& OwnProxyVariables();

// Returns the host's variables that the policy lets through, as "NAME=value", in their order. With
// policy.own_proxy, in every mode, replaces those for which NamesProxy is true by
// OwnProxyVariables: the host's proxies can't be reached.
std::vector<std::string> PassedVariables(const EnvironmentPolicy& policy,
                                         const std::vector<Variable>& host);

// Returns `passed` as a sandbox with this view needs it: without the variables that name what is
// not there, with others replaced, and with HOME if there is a home.
std::vector<std::string> FitToHome(std::vector<std::string> passed, const HomeView& view);

// Names a run's own home, which was made in `view.homes`, in an environment that FitToHome fitted
// to the view. A HOME that the call itself names stays.
std::vector<std::string> WithOwnHome(std::vector<std::string> environment, const HomeView& view,
                                     const std::string& home);

// Returns the command's environment as "NAME=value": `passed`, then `named` (always passed; of
// equal names the last wins), then PWD=`cwd` unless `named` has it, and a default PATH if there is
// none. Not sorted: the host's order, then the caller's.
std::vector<std::string> BuildEnvironment(const std::vector<std::string>& passed,
                                          const std::vector<Variable>& named, std::string_view cwd);

}  // namespace native_runner
