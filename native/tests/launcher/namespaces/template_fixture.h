#pragma once

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/launcher/support/launcher_fixture.h"

namespace native_runner {

using CloneHost = std::unique_ptr<LauncherHost>;

// Templates that bwrap has made the mounts of: all of the host's, read-only.
class TemplateFixture : public testing::Test {
 protected:
  using Steps = std::vector<std::string>;

  void SetUp() override {
    if (!BwrapProblem().empty()) GTEST_SKIP() << BwrapProblem();
  }

  static std::string Leave(const std::string& suffix = "-") {
    return "i" + std::to_string(geteuid()) + ":" + std::to_string(getegid()) + suffix;
  }
  // As root, bwrap covers parts of the template's /proc, so a clone's must be mounted read-only.
  static std::string Proc() { return geteuid() == 0 ? "Pr/proc" : "P/proc"; }
  static Steps GoodSteps() { return {Proc(), "d/dev/pts", "t/dev/shm", "n", Leave()}; }

  static OrderSpec TemplateOrder(Steps steps) {
    OrderSpec spec{.argv = {"template"}};
    spec.header.flags = kOrderTemplate;
    spec.rules = std::move(steps);
    return spec;
  }
  static OrderSpec Shell(const std::string& script) {
    OrderSpec spec{.argv = {"/bin/sh", "-c", script}};
    spec.environment = {"PATH=/usr/bin:/bin"};
    spec.header.flags = kOrderNoCapabilities | kOrderNoNewPrivs;
    return spec;
  }

  // Returns a template that is ready; otherwise the test fails.
  static CloneHost Start(Steps steps = GoodSteps()) {
    auto host = std::make_unique<LauncherHost>(Mode::kTemplate);
    host->SendOrder(TemplateOrder(std::move(steps)));
    const auto report = host->Receive();
    EXPECT_TRUE(report && report->kind == ReportKind::kReady)
        << (report ? report->text : "it said nothing");
    return host;
  }

  static RunResult RunIn(LauncherHost& made, const OrderSpec& order, CloneRequest request = {}) {
    const auto clone = made.Clone(request);
    clone->SendOrder(order);
    return clone->Finish();
  }
  static std::string Out(LauncherHost& made, const std::string& script) {
    const RunResult result = RunIn(made, Shell(script));
    ExpectExited(result, 0);
    return result.out;
  }
  static void ExpectServes(LauncherHost& made) { EXPECT_EQ(Out(made, "echo serves"), "serves\n"); }
};

}  // namespace native_runner
