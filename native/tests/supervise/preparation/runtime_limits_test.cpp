#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "supervise/preparation/backend.h"
#include "tests/supervise/support/plans.h"

namespace native_runner {
namespace {

using Layers = std::vector<std::string>;

struct Case {
  const char* name;
  Limits limits;
  bool memory_cgroup;
  bool pids_cgroup;
  bool enforceable;
  // expected
  OrderHeader order;
  bool wants_cgroup;
  Layers layers;
};

Limits All() {
  Limits limits;
  limits.memory_bytes = 1'000;
  limits.cpu_seconds = 2;
  limits.max_processes = 3;
  limits.max_open_files = 4;
  limits.max_file_bytes = 5;
  return limits;
}

Limits Memory() {
  Limits limits;
  limits.memory_bytes = 1'000;
  return limits;
}

Limits Processes() {
  Limits limits;
  limits.max_processes = 3;
  return limits;
}

Limits OpenFiles() {
  Limits limits;
  limits.max_open_files = 0;
  return limits;
}

const std::vector<Case>& Cases() {
  static const std::vector<Case> kCases = {
      {"nothing", {}, true, true, true, {}, false, {}},
      {"all by rlimits",
       All(),
       false,
       false,
       true,
       {.data_bytes = 1'000, .cpu_seconds = 2, .processes = 4, .open_files = 4, .file_bytes = 5},
       false,
       {"rlimits"}},
      {"all, as far as cgroups go",
       All(),
       true,
       true,
       false,
       {.cpu_seconds = 2, .open_files = 4, .file_bytes = 5},
       true,
       {"rlimits", "cgroup"}},
      {"memory by its controller, processes by rlimit",
       All(),
       true,
       false,
       true,
       {.cpu_seconds = 2, .processes = 4, .open_files = 4, .file_bytes = 5},
       true,
       {"rlimits", "cgroup"}},
      {"memory alone by rlimit",
       Memory(),
       false,
       true,
       false,
       {.data_bytes = 1'000},
       false,
       {"rlimits"}},
      {"memory alone by cgroup", Memory(), true, false, false, {}, true, {"cgroup"}},
      {"processes alone by cgroup", Processes(), false, true, false, {}, true, {"cgroup"}},
      {"processes and the launcher by rlimit",
       Processes(),
       false,
       false,
       true,
       {.processes = 4},
       false,
       {"rlimits"}},
      {"zero is a limit", OpenFiles(), false, false, false, {.open_files = 0}, false, {"rlimits"}},
  };
  return kCases;
}

TEST(ApplyLimits, PutsEachLimitWhereItCanBeKept) {
  for (const Case& row : Cases()) {
    SCOPED_TRACE(row.name);
    const CgroupParent cgroups("/nonexistent", row.memory_cgroup, row.pids_cgroup);
    Preparation preparation;
    EXPECT_EQ(ApplyLimits(row.limits, cgroups, row.enforceable, &preparation), std::nullopt);
    EXPECT_EQ(preparation.order.data_bytes, row.order.data_bytes);
    EXPECT_EQ(preparation.order.cpu_seconds, row.order.cpu_seconds);
    EXPECT_EQ(preparation.order.processes, row.order.processes);
    EXPECT_EQ(preparation.order.open_files, row.order.open_files);
    EXPECT_EQ(preparation.order.file_bytes, row.order.file_bytes);
    EXPECT_EQ(PlanOf(preparation).wants_cgroup, row.wants_cgroup);
    EXPECT_EQ(preparation.record.layers.Names(), row.layers);
  }
}

TEST(ApplyLimits, WhatEntersASessionHasNoCgroup) {
  const CgroupParent cgroups("/nonexistent", true, true);
  Preparation spawns;
  EXPECT_EQ(ApplyLimits(Memory(), cgroups, true, &spawns), std::nullopt);
  EXPECT_EQ(spawns.record.layers.Names(), Layers{"cgroup"});
  Preparation enters;
  enters.plan.emplace<SessionPlan>();
  EXPECT_EQ(ApplyLimits(Memory(), cgroups, true, &enters), std::nullopt);
  EXPECT_EQ(enters.order.data_bytes, 1'000u);
  EXPECT_EQ(enters.record.layers.Names(), Layers{"rlimits"});
}

TEST(ApplyLimits, ALimitThatCannotBeKeptIsASetupError) {
  const CgroupParent memory_only("/nonexistent", true, false);
  Preparation preparation;
  const auto error = ApplyLimits(Processes(), memory_only, false, &preparation);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kSetup);
  EXPECT_NE(error->message.find("limits.maxProcesses"), std::string::npos);
  EXPECT_FALSE(error->fix.empty());
}

}  // namespace
}  // namespace native_runner
