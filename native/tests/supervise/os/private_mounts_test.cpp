#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "supervise/os/mounts.h"
#include "supervise/os/process.h"
#include "tests/supervise/support/processes.h"

namespace native_runner {
namespace {

// A shell that is ended with the test.
class Process {
 public:
  explicit Process(const std::string& script) {
    auto child = Child::Spawn(ShellOrder(script));
    EXPECT_TRUE(child) << child.error().message;
    if (child) child_.emplace(std::move(*child));
  }
  ~Process() { End(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int pidfd() const { return child_->pidfd(); }
  void End() {
    child_->Signal(SIGKILL);
    while (!child_->Reap())
      usleep(1000);
  }
  std::string Mounts() const {
    std::ifstream file("/proc/" + std::to_string(child_->pid()) + "/mountinfo");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  bool Comes(const std::string& what) const {
    for (int left = 500; left > 0; --left, usleep(10'000)) {
      if (Mounts().find(what) != std::string::npos) return true;
    }
    return false;
  }

 private:
  std::optional<Child> child_;
};

std::string OwnMounts() {
  std::ifstream file("/proc/self/mountinfo");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Makes, in a user namespace as bwrap makes it, a mount that follows a mount outside, where another
// process stays until this one ends.
constexpr const char* kFollower =
    "exec unshare --user --map-root-user --mount sh -c 'mount -t tmpfs shared /mnt && "
    "mount --make-shared /mnt && { setpriv --pdeathsig KILL sleep 60 & } && "
    "exec unshare --mount --propagation slave sleep 60'";

TEST(MakeMountsPrivate, CutsOffWhatFollowsOtherMounts) {
  const Process follower(kFollower);
  if (!follower.Comes(" master:")) GTEST_SKIP() << "no user namespaces for this user";
  const int was_dumpable = prctl(PR_GET_DUMPABLE);
  const auto error = MakeMountsPrivate(follower.pidfd());
  EXPECT_FALSE(error) << error->message;
  EXPECT_EQ(follower.Mounts().find(" master:"), std::string::npos);
  EXPECT_EQ(follower.Mounts().find(" shared:"), std::string::npos);
  EXPECT_EQ(prctl(PR_GET_DUMPABLE), was_dumpable) << "its helper shares our memory";
}

TEST(MakeMountsPrivate, NeverTouchesOurOwn) {
  const Process neighbour("exec sleep 60");
  const std::string before = OwnMounts();
  const auto error = MakeMountsPrivate(neighbour.pidfd());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kSetup);
  EXPECT_NE(error->message.find("the host's own"), std::string::npos) << error->message;
  EXPECT_EQ(OwnMounts(), before);
}

TEST(MakeMountsPrivate, NeedsAProcessThatLives) {
  Process gone("exec sleep 60");
  gone.End();
  const auto error = MakeMountsPrivate(gone.pidfd());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kSetup);
}

}  // namespace
}  // namespace native_runner
