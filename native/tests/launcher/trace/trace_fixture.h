#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {

inline OrderSpec TracedProbe(const std::string& what) {
  OrderSpec spec{.argv = {ProbePath(), "refused", what}};
  spec.header.flags = kOrderNoNewPrivs | kOrderSeccomp | kOrderExplain;
  return spec;
}

inline OrderSpec TracedShell(const std::string& script, bool is_traced = true) {
  OrderSpec spec{.argv = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
  spec.header.flags = kOrderNoNewPrivs | kOrderSeccomp | (is_traced ? kOrderExplain : 0u);
  return spec;
}

inline const Observation* FindObservation(const RunResult& result, const std::string& call,
                                          const std::string& path) {
  const auto found =
      std::find_if(result.observations.begin(), result.observations.end(),
                   [&](const Observation& each) { return each.call == call && each.path == path; });
  return found == result.observations.end() ? nullptr : &*found;
}

}  // namespace native_runner
