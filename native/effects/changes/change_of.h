#pragma once

#include <optional>
#include <string>

#include "effects/changes/scanned_tree.h"
#include "policy/changes/change.h"

namespace native_runner {

// A name in two trees: what is there now, and what was there. Not both are nothing.
struct TwoNodes {
  std::optional<Node> now;
  std::optional<Node> before;
};

// What tells of it as a change; without a link's target.
Change ChangeOf(const std::string& path, const TwoNodes& nodes);

// Whether what is there is what was there, but for its times: of files contents and extended
// attributes are compared. False also where one can't be read.
bool AreSame(const TwoNodes& nodes, const std::string& name, const ScannedDirectory& now_in,
             const ScannedDirectory& before_in);

}  // namespace native_runner
