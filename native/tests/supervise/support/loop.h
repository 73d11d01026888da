#pragma once

#include <gtest/gtest.h>
#include <uv.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "supervise/os/handle.h"

namespace native_runner {

// A libuv loop for one test, on the test's own thread. Declare it before what uses it: its
// destructor comes last and fails the test when a handle was left open.
class TestLoop {
 public:
  TestLoop() { EXPECT_EQ(InitLoop(&loop_), 0); }
  ~TestLoop() {
    for (int turn = 0; turn < 8; ++turn)
      uv_run(&loop_, UV_RUN_NOWAIT);  // close callbacks
    EXPECT_EQ(uv_loop_close(&loop_), 0) << "a handle was left open";
  }
  TestLoop(const TestLoop&) = delete;
  TestLoop& operator=(const TestLoop&) = delete;

  uv_loop_t* get() { return &loop_; }

  // Runs until `done()` holds; false when it does not in time.
  template <typename Done>
  bool RunUntil(const Done& done, int timeout_ms = 20'000) {
    const auto deadline = Deadline(timeout_ms);
    Timer tick;
    tick.Start(&loop_, 0, 5, [] {});
    while (!done()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      uv_run(&loop_, UV_RUN_ONCE);
    }
    return true;
  }

  // Runs until no handle is active any more; false when some still are after the time.
  bool RunToEnd(int timeout_ms = 20'000) {
    const auto deadline = Deadline(timeout_ms);
    while (uv_run(&loop_, UV_RUN_NOWAIT) != 0) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  // Runs callbacks that are ready, also if the process did not run during all of that time.
  void RunFor(int duration_ms) {
    static_cast<void>(RunUntil([] { return false; }, duration_ms));
    for (int turn = 0; turn < 8; ++turn)
      uv_run(&loop_, UV_RUN_NOWAIT);
  }

 private:
  static std::chrono::steady_clock::time_point Deadline(int timeout_ms) {
    return std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  }

  uv_loop_t loop_{};
};

// Runs `body` on a thread with every signal blocked, as the supervisor's own thread is.
template <typename Body>
void OnSupervisorLikeThread(const Body& body) {
  std::thread thread([&body] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    body();
  });
  thread.join();
}

}  // namespace native_runner
