#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "supervise/supervisor.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/recording_listener.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"
#include "tests/support/slow.h"

namespace native_runner {

// A supervisor with a workspace. The end of each test closes it and checks that neither a
// descriptor nor a child of this process is left.
class SupervisorFixture : public testing::Test {
 protected:
  static constexpr std::uint64_t kLane = 1;
  static constexpr std::size_t kWide = 8;

  void SetUp() override {
    // First, so that what a sanitizer or libuv opens once for good is not taken for a leak.
    StartSupervisor();
    StopSupervisor();
    listener_ = std::make_unique<RecordingListener>();
    descriptors_ = CountDescriptors();
    children_ = CountChildren();
    StartSupervisor();
  }

  void TearDown() override {
    StopSupervisor();
    EXPECT_EQ(listener_->late(), 0);
    EXPECT_EQ(CountDescriptors(), descriptors_);
    EXPECT_EQ(CountChildren(), children_);
  }

  void Submit(std::uint64_t run, ExecRequest request, std::shared_ptr<const Backend> runtime,
              std::uint64_t lane = kLane, std::size_t width = kWide) {
    supervisor_->Submit({run, lane, width, std::move(runtime), std::move(request)});
  }

  void SubmitShell(std::uint64_t run, const std::string& script, std::uint64_t lane = kLane,
                   std::size_t width = kWide) {
    Submit(run, ShellRequest(script), Local(workspace_.path()), lane, width);
  }

  // The end of a run, as a plain value: a run that never ends fails the test.
  const RunResult& Result(std::uint64_t run) {
    static const RunResult kNone;
    const auto* ended = listener_->Wait(run);
    EXPECT_NE(ended, nullptr) << "run " << run << " did not end";
    return ended != nullptr ? ended->result : kNone;
  }

  // Waits for what a command writes into the workspace.
  bool WaitForText(const std::string& file, const std::string& text) {
    for (int turn = 0; turn < Slow(4'000); ++turn) {
      if (workspace_.Read(file).find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  void StopSupervisor() {
    if (!supervisor_) return;
    supervisor_->Close();
    EXPECT_TRUE(listener_->WaitClosed());
    supervisor_.reset();
  }

  TempDirectory workspace_;
  std::unique_ptr<RecordingListener> listener_ = std::make_unique<RecordingListener>();
  std::unique_ptr<Supervisor> supervisor_;

 private:
  void StartSupervisor() {
    auto started = Supervisor::Start({LauncherPath(), HostPath(), listener_.get()});
    ASSERT_TRUE(started) << started.error().message;
    supervisor_ = std::move(*started);
  }

  int descriptors_ = 0;
  int children_ = 0;
};

}  // namespace native_runner
