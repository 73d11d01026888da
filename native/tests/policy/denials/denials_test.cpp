#include "policy/denials/denials.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

namespace native_runner {
namespace {

Observation RefusedRead() {
  Observation observation;
  observation.kind = Observation::Kind::kRead;
  observation.call = "openat";
  observation.path = "/data/file";
  observation.program = "cat";
  observation.error = EACCES;
  observation.count = 1;
  return observation;
}

DeniedRun DeniedRunOf(bool explain, OutcomeKind kind, std::vector<Observation> observations) {
  auto scene = std::make_shared<DenialScene>();
  scene->wall = DenialScene::Wall::kLandlock;
  DeniedRun run;
  run.scene = std::move(scene);
  run.argv = {"/opt/tool"};
  run.explain = explain;
  run.advice = std::make_shared<const AdviceLists>();
  run.outcome.kind = kind;
  run.observations = std::move(observations);
  return run;
}

// True if the report of denials has looked at the host.
bool Looks(const DeniedRun& run) {
  bool has_looked = false;
  static_cast<void>(ReportDenials(run, [&has_looked](const std::string&) {
    has_looked = true;
    return HostLookup();
  }));
  return has_looked;
}

TEST(ReportDenials, LooksAtTheHostOnlyWhereItSaysSo) {
  for (const OutcomeKind kind :
       {OutcomeKind::kExited, OutcomeKind::kSignaled, OutcomeKind::kTimedOut, OutcomeKind::kAborted,
        OutcomeKind::kNotFound, OutcomeKind::kNotExecutable, OutcomeKind::kSetupFailed,
        OutcomeKind::kLimitExceeded}) {
    for (const bool explain : {false, true}) {
      for (const bool is_refused : {false, true}) {
        std::vector<Observation> observations;
        if (is_refused) observations.push_back(RefusedRead());
        const DeniedRun run = DeniedRunOf(explain, kind, std::move(observations));
        const bool is_missing = kind == OutcomeKind::kNotFound;
        EXPECT_EQ(NeedsLook(run), explain && (is_refused || is_missing));
        EXPECT_TRUE(NeedsLook(run) || !Looks(run));
      }
    }
  }
  EXPECT_TRUE(Looks(DeniedRunOf(true, OutcomeKind::kExited, {RefusedRead()})));
  EXPECT_TRUE(Looks(DeniedRunOf(true, OutcomeKind::kNotFound, {})));
}

}  // namespace
}  // namespace native_runner
