#pragma once

#include <string>
#include <vector>

#include "policy/options/environment.h"

namespace native_runner {

// What a policy passes on of this process's own variables (environ(7)), worked out again only when
// one of them has changed. One a runner; main thread only, where JavaScript changes this very one.
class HostEnvironment {
 public:
  const std::vector<std::string>& PassedBy(const EnvironmentPolicy& policy);

 private:
  bool Unchanged() const;

  std::vector<std::string> seen_;  // environ as it was
  std::vector<std::string> passed_;
  bool known_ = false;
};

}  // namespace native_runner
