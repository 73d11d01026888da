#include "policy/options/environment.h"

#include <algorithm>
#include <cstddef>

namespace native_runner {
namespace {

constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

using Names = std::vector<std::string_view>;

bool Holds(const Names& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

bool LetsThrough(const EnvironmentPolicy& policy, const Names& listed, const Variable& variable) {
  const std::string_view name = variable.first;
  if (name.empty() || name == "PWD") return false;  // PWD tells where the command is, not the host
  switch (policy.mode) {
    case EnvironmentPolicy::Mode::kScrub:
      return name != "OLDPWD" && !SteersLoader(name) && !CarriesSecret(name, variable.second);
    case EnvironmentPolicy::Mode::kInherit:
      return true;
    case EnvironmentPolicy::Mode::kClean:
      return false;
    case EnvironmentPolicy::Mode::kNames:
      return Holds(listed, name);
  }
  return false;
}

std::string Assignment(std::string_view name, std::string_view value) {
  std::string text;
  text.reserve(name.size() + 1 + value.size());
  text += name;
  text += '=';
  text += value;
  return text;
}

// The indexes of `named` that stay, in order: of equal names the last.
std::vector<std::size_t> LastOfEachName(const std::vector<Variable>& named) {
  std::vector<std::size_t> order(named.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&named](std::size_t a, std::size_t b) {
    const int compared = named[a].first.compare(named[b].first);
    return compared != 0 ? compared < 0 : a > b;
  });
  const auto same_name = [&named](std::size_t a, std::size_t b) {
    return named[a].first == named[b].first;
  };
  order.erase(std::unique(order.begin(), order.end(), same_name), order.end());
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

std::vector<std::string> PassedVariables(const EnvironmentPolicy& policy,
                                         const std::vector<Variable>& host) {
  Names listed(policy.names.begin(), policy.names.end());
  std::sort(listed.begin(), listed.end());
  std::vector<std::string> passed;
  passed.reserve(host.size());
  for (const Variable& variable : host) {
    if (policy.own_proxy && NamesProxy(variable.first)) continue;
    if (LetsThrough(policy, listed, variable)) {
      passed.push_back(Assignment(variable.first, variable.second));
    }
  }
  if (policy.own_proxy) {
    const auto& own = OwnProxyVariables();
    passed.insert(passed.end(), own.begin(), own.end());
  }
  return passed;
}

std::vector<std::string> BuildEnvironment(const std::vector<std::string>& passed,
                                          const std::vector<Variable>& named,
                                          std::string_view cwd) {
  Names overridden;
  overridden.reserve(named.size());
  for (const Variable& variable : named)
    overridden.push_back(variable.first);
  std::sort(overridden.begin(), overridden.end());

  std::vector<std::string> environment;
  environment.reserve(passed.size() + named.size() + 2);
  bool has_path = Holds(overridden, "PATH");
  for (const std::string& variable : passed) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    if (Holds(overridden, name)) continue;
    has_path |= name == "PATH";
    environment.push_back(variable);
  }
  for (const std::size_t index : LastOfEachName(named)) {
    environment.push_back(Assignment(named[index].first, named[index].second));
  }
  if (!cwd.empty() && !Holds(overridden, "PWD")) environment.push_back(Assignment("PWD", cwd));
  if (!has_path) environment.push_back(Assignment("PATH", kDefaultPath));
  return environment;
}

}  // namespace native_runner
