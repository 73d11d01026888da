#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

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

TEST(MountLines, HaveTheFieldsOfEach) {
  MountLines lines(
      "29 1 0:26 /@/a\\040b /srv rw,relatime shared:1 master:3 - btrfs /dev/vda1 ro\n"
      "30 1 8:1 / / ro - ext4 /dev/sda1 rw\n"
      "31 1 8:2 / /cut rw");
  const auto first = lines.Next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->device, "0:26");
  EXPECT_EQ(first->root, "/@/a\\040b");
  EXPECT_EQ(first->point, "/srv");
  EXPECT_TRUE(first->is_writable());
  EXPECT_EQ(first->kind, "btrfs");
  EXPECT_EQ(first->source, "/dev/vda1");
  const auto second = lines.Next();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->is_writable());
  EXPECT_EQ(second->source, "/dev/sda1");
  const auto third = lines.Next();
  ASSERT_TRUE(third);
  EXPECT_EQ(third->point, "/cut");
  EXPECT_EQ(third->kind, "");
  EXPECT_FALSE(lines.Next());
}

TEST(MountPointsBelow, AreTheOutermostOnes) {
  constexpr std::string_view kMounts =
      "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
      "22 21 8:2 / /home rw - ext4 /dev/sda2 rw\n"
      "23 22 0:5 / /home/ada/a\\040b rw shared:1 - tmpfs none rw\n"
      "24 23 0:6 / /home/ada/a\\040b/inner rw - tmpfs none rw\n"
      "25 22 0:7 / /home/adam rw - tmpfs none rw\n"
      "26 22 0:8 / /home/ada rw - tmpfs none rw\n"
      "27 23 0:9 / /home/ada/a\\040b rw - tmpfs none rw\n";
  EXPECT_EQ(MountPointsBelow(kMounts, "/home/ada"), std::vector<std::string>{"/home/ada/a b"});
  EXPECT_EQ(MountPointsBelow(kMounts, "/srv"), std::vector<std::string>());
}

TEST(AreLocalMounts, KnowsWhatDependsOnOthers) {
  const std::string local =
      "1 0 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "2 1 0:5 / /proc rw master:3 - proc proc rw\n"
      "3 2 0:6 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"
      "4 2 0:7 / /proc/cpuinfo rw - fuse.lxcfs lxcfs rw\n";
  EXPECT_TRUE(AreLocalMounts(local));
  for (const char* const kind :
       {"fuse", "fuse.sshfs", "nfs4", "cifs", "9p", "virtiofs", "autofs", "ceph", "unheard-of"}) {
    const std::string mount = std::string("5 1 0:8 / /a\\040-\\040ext4 rw - ") + kind + " x rw\n";
    EXPECT_FALSE(AreLocalMounts(local + mount)) << kind;
    EXPECT_FALSE(AreLocalMounts(mount + local)) << kind;
  }
  EXPECT_EQ(FarMountPointsOf(local), std::vector<std::string>());
  const std::string far =
      "5 1 0:8 / /a\\040-\\134b rw - nfs4 host:/ rw\n6 1 0:9 / /c rw shared:2 - fuse x rw\n";
  const std::vector<std::string> points = {"/a -\\b", "/c"};
  EXPECT_EQ(FarMountPointsOf(local + far), points);
  EXPECT_FALSE(AreLocalMounts("")) << "/proc shows no mounts";
  EXPECT_FALSE(AreLocalMounts(local + "5 1 0:8 / /a rw - ext4")) << "it ends within a line";
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
