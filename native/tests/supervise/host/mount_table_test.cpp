#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervise/os/mounts.h"

namespace native_runner {
namespace {

constexpr int kNoNamespace = 77;

// Runs `look` in a process with mounts of its own, and returns its result as the exit status.
int InOwnMounts(int (*look)()) {
  const pid_t child = fork();
  if (child == 0) {
    const bool is_apart =
        (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    _exit(is_apart ? look() : kNoNamespace);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(MountTable, KnowsWhetherAMountIsShared) {
  const int result = InOwnMounts([] {
    MountTable table;
    if (table.AreShared()) return 1;
    if (mount("late", "/mnt", "tmpfs", 0, nullptr) != 0) return kNoNamespace;
    if (mount(nullptr, "/mnt", nullptr, MS_SHARED, nullptr) != 0) return kNoNamespace;
    if (!table.AreShared()) return 2;
    if (umount2("/mnt", MNT_DETACH) != 0) return kNoNamespace;
    return table.AreShared() ? 3 : 0;
  });
  if (result == kNoNamespace) GTEST_SKIP() << "this user can't mount in a namespace of its own";
  EXPECT_EQ(result, 0);
}

TEST(MountTable, IsNotToldThatAMountIsMadeSharedAndBelievesWhoSaysSo) {
  const int result = InOwnMounts([] {
    MountTable table;
    if (table.AreShared()) return 1;
    table.TakeForShared();
    if (!table.AreShared() || !table.AreShared()) return 2;
    if (mount("late", "/mnt", "tmpfs", 0, nullptr) != 0) return kNoNamespace;
    return table.AreShared() ? 3 : 0;  // looked at again, since it has changed
  });
  if (result == kNoNamespace) GTEST_SKIP() << "this user can't mount in a namespace of its own";
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace native_runner
