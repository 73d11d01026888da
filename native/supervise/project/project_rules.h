#pragma once

#include <string>
#include <vector>

#include "policy/bubblewrap/project.h"

namespace native_runner {

// The rules of a second wall inside a project's sandbox, in the order's form (protocol/order.h).
// Masks hide the secrets that are there when a run starts, and the kernel takes a mask away when
// the host replaces what is under it. Landlock goes by what a file is, not by its name: it allows
// all that stands around the secrets now, so that whatever takes the place of one, or is made where
// one would be, can't be read. The same goes for all else that is made beside a secret meanwhile.
//
// `secrets`: absolute paths with all links resolved, whether they exist or not. In the folders, in
// the private directories and in the kernel's, only masks hide them.
std::vector<std::string> ProjectRules(const ProjectPolicy& policy, const ProjectFacts& facts,
                                      const std::vector<std::string>& secrets);

}  // namespace native_runner
