#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "supervise/run/run.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/pattern.h"
#include "tests/supervise/support/requests.h"

namespace native_runner {

// Stands in for the supervisor of runs, on the test's own thread and loop.
class RunHost {
 public:
  RunHost() {
    shared.loop = loop_.get();
    auto null_device = OpenPath("/dev/null", O_RDWR);
    auto launcher = SealedCopy(LauncherPath());
    EXPECT_TRUE(null_device && launcher);
    shared.null_device = std::move(*null_device);
    shared.launcher = std::move(*launcher);
    shared.programs = std::make_unique<Programs>(shared.loop, shared.null_device.get(), HostPath());
  }

  std::shared_ptr<Run> Start(std::shared_ptr<const Backend> runtime, ExecRequest request) {
    result_.reset();
    Run::Listener listener;
    listener.on_chunk = [this](Stream stream, const std::uint8_t* data, std::size_t size) {
      std::string& kept = stream == Stream::kStdout ? streamed_out : streamed_err;
      kept.append(reinterpret_cast<const char*>(data), size);
    };
    listener.on_end = [this](RunResult result) {
      EXPECT_FALSE(result_) << "a run ended twice";
      result_ = std::move(result);
    };
    auto run =
        std::make_shared<Run>(shared, std::move(runtime), std::move(request), std::move(listener));
    run->Start();
    return run;
  }

  bool ended() const { return result_.has_value(); }

  RunResult Wait() {
    if (!loop_.RunUntil([this] { return ended(); }, 60'000)) {
      ADD_FAILURE() << "the run did not end";
      return {};
    }
    return std::move(*result_);
  }

  RunResult Execute(std::shared_ptr<const Backend> runtime, ExecRequest request) {
    const auto run = Start(std::move(runtime), std::move(request));
    return Wait();
  }

  TestLoop& loop() { return loop_; }

 private:
  TestLoop loop_;  // above `shared`: closed last

 public:
  SupervisorContext shared;
  std::string streamed_out;
  std::string streamed_err;

 private:
  std::optional<RunResult> result_;
};

// Empty when bwrap can make a sandbox here, else why not.
inline const std::string& SandboxProblem() {
  static const std::string kProblem = [] {
    const std::string workspace = testing::TempDir();
    const RunResult result =
        RunHost().Execute(Sandboxed(workspace), CommandRequest({"/bin/sh", "-c", "exit 0"}));
    if (result.rejection) return "bwrap can't be used: " + result.rejection->message;
    if (result.outcome.kind == OutcomeKind::kExited) return std::string();
    return "bwrap does not work here: " + result.outcome.reason;
  }();
  return kProblem;
}

}  // namespace native_runner
