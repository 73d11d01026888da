#include "supervise/transaction/look_again.h"

#include <vector>

#include "protocol/order.h"
#include "protocol/step.h"
#include "supervise/transaction/namespaces.h"

namespace native_runner {

std::optional<Error> LookAgain(const std::string& launcher, const KeptWorkspace& kept) {
  std::vector<int> given;
  std::vector<std::string> steps;
  const auto add = [&](char kind, const Descriptor& descriptor) {
    if (!descriptor.valid()) return;
    steps.push_back(kind + std::to_string(kFirstGiven + static_cast<int>(given.size())));
    given.push_back(descriptor.get());
  };
  add(kStepJoin, kept.user_namespace);
  add(kStepJoin, kept.mount_namespace);
  add(kStepLookAgain, kept.root);
  const auto made = MakeNamespaces(launcher, steps, given);
  return made ? std::nullopt : std::optional(made.error());
}

}  // namespace native_runner
