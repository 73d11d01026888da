#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "supervise/preparation/backend.h"
#include "tests/supervise/support/plans.h"

namespace native_runner {
namespace {

constexpr Controllers kBoth = {.memory = true, .pids = true};

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
    const CgroupParent cgroups("/nonexistent",
                               {.memory = row.memory_cgroup, .pids = row.pids_cgroup});
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
  const CgroupParent cgroups("/nonexistent", kBoth);
  Preparation spawns;
  EXPECT_EQ(ApplyLimits(Memory(), cgroups, true, &spawns), std::nullopt);
  EXPECT_EQ(spawns.record.layers.Names(), Layers{"cgroup"});
  Preparation enters;
  enters.plan.emplace<SessionPlan>();
  EXPECT_EQ(ApplyLimits(Memory(), cgroups, true, &enters), std::nullopt);
  EXPECT_EQ(enters.order.data_bytes, 1'000u);
  EXPECT_EQ(enters.record.layers.Names(), Layers{"rlimits"});
}

TEST(ApplyLimits, AShareTakesACgroupOfTheRunsOwn) {
  Limits limits;
  limits.cpu_share = 5;
  const CgroupParent cpu("/nonexistent", {.cpu = true});
  Preparation spawns;
  EXPECT_EQ(ApplyLimits(limits, cpu, true, &spawns), std::nullopt);
  EXPECT_TRUE(PlanOf(spawns).wants_cgroup);
  EXPECT_EQ(spawns.record.layers.Names(), Layers{"cgroup"});
  Preparation enters;
  enters.plan.emplace<SessionPlan>();
  const auto in_session = ApplyLimits(limits, cpu, true, &enters);
  ASSERT_TRUE(in_session);
  EXPECT_NE(in_session->message.find("limits.cpuShare"), std::string::npos);
}

TEST(ApplyLimits, AShareThatNothingKeepsIsASetupErrorThatNamesIt) {
  Limits limits;
  limits.cpu_share = 5;
  const auto refused = [](const Limits& asked, const CgroupParent& cgroups, const char* name) {
    Preparation preparation;
    preparation.places.counted = {"/proc"};  // on no disk
    const auto error = ApplyLimits(asked, cgroups, true, &preparation);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, ErrorCode::kSetup);
    EXPECT_NE(error->message.find(name), std::string::npos) << error->message;
    EXPECT_FALSE(error->fix.empty());
  };
  refused(limits, {}, "limits.cpuShare");
  refused(limits, CgroupParent("/nonexistent", {.memory = true, .io = true}), "limits.cpuShare");
  Limits io;
  io.io_share = 5;
  refused(io, {}, "limits.ioShare");
  refused(io, CgroupParent("/nonexistent", {.cpu = true}), "limits.ioShare");
  refused(io, CgroupParent("/nonexistent", {.io = true}), "on no disk");
}

TEST(ApplyLimits, WritesThatCannotBeCountedAreASetupError) {
  Limits limits;
  limits.write_bytes = 5;
  Preparation preparation;
  EXPECT_EQ(ApplyLimits(limits, {}, true, &preparation), std::nullopt);
  preparation.places.uncountable = "for this reason";
  const auto error = ApplyLimits(limits, {}, true, &preparation);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message.find("limits.writeBytes"), std::string::npos);
  EXPECT_NE(error->message.find("for this reason"), std::string::npos);
}

TEST(ApplyLimits, ALimitThatCannotBeKeptIsASetupError) {
  const CgroupParent memory_only("/nonexistent", {.memory = true});
  Preparation preparation;
  const auto error = ApplyLimits(Processes(), memory_only, false, &preparation);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kSetup);
  EXPECT_NE(error->message.find("limits.maxProcesses"), std::string::npos);
  EXPECT_FALSE(error->fix.empty());
}

}  // namespace
}  // namespace native_runner
