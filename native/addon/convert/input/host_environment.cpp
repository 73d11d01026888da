#include "addon/convert/input/host_environment.h"

#include <unistd.h>

#include <string_view>

namespace native_runner {

bool HostEnvironment::Unchanged() const {
  std::size_t index = 0;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry, ++index) {
    if (index == seen_.size() || seen_[index] != *entry) return false;
  }
  return index == seen_.size();
}

const std::vector<std::string>& HostEnvironment::PassedBy(const EnvironmentPolicy& policy) {
  if (known_ && Unchanged()) return passed_;
  seen_.clear();
  std::vector<Variable> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    seen_.emplace_back(*entry);
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  passed_ = PassedVariables(policy, variables);
  known_ = true;
  return passed_;
}

}  // namespace native_runner
