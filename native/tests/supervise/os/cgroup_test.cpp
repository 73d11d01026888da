#include "supervise/os/cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "tests/supervise/support/fake_cgroups.h"
#include "tests/supervise/support/processes.h"

namespace native_runner {
namespace {

const std::set<std::string> kAllFiles = {"cgroup.procs",  "memory.max",   "memory.swap.max",
                                         "memory.events", "pids.max",     "cpu.weight",
                                         "io.weight",     "io.bfq.weight"};
constexpr Controllers kBoth = {.memory = true, .pids = true};

Limits MemoryAndProcesses() {
  Limits limits;
  limits.memory_bytes = 300'000'000;
  limits.max_processes = 10;
  return limits;
}

TEST(Cgroup, HoldsTheLimitsOfItsControllers) {
  struct Case {
    bool memory;
    bool pids;
    const char* memory_max;
    const char* swap_max;
    const char* pids_max;
  };
  for (const Case& row :
       {Case{true, true, "300000000", "0", "12"},  // bwrap and launcher on top
        Case{true, false, "300000000", "0", ""}, Case{false, true, "", "", "12"}}) {
    FakeCgroups fake(kAllFiles);
    CgroupParent parent(fake.path(), {.memory = row.memory, .pids = row.pids});
    EXPECT_EQ(parent.controllers().memory, row.memory);
    EXPECT_EQ(parent.controllers().pids, row.pids);
    auto group = parent.Create(MemoryAndProcesses());
    ASSERT_TRUE(group) << group.error().message;
    EXPECT_EQ(fake.Value("memory.max"), row.memory_max);
    EXPECT_EQ(fake.Value("memory.swap.max"), row.swap_max);
    EXPECT_EQ(fake.Value("pids.max"), row.pids_max);
  }
}

TEST(Cgroup, WritesOnlyTheLimitsThatAreAskedFor) {
  FakeCgroups fake(kAllFiles);
  auto group = CgroupParent(fake.path(), kBoth).Create({});
  ASSERT_TRUE(group);
  EXPECT_EQ(fake.Value("memory.max"), "");
  EXPECT_EQ(fake.Value("pids.max"), "");
}

Limits Shares() {
  Limits limits;
  limits.cpu_share = 20;
  limits.io_share = 30;
  return limits;
}

TEST(Cgroup, HoldsTheShares) {
  for (const char* lacking : {"", "io.weight", "io.bfq.weight"}) {
    std::set<std::string> files = kAllFiles;
    files.erase(lacking);
    FakeCgroups fake(files);
    std::ofstream(fake.path() + "/cgroup.subtree_control").flush();
    auto group = CgroupParent(fake.path(), {.cpu = true, .io = true}).Create(Shares());
    ASSERT_TRUE(group) << group.error().message;
    EXPECT_EQ(fake.Value("cpu.weight"), "20");
    for (const char* file : {"io.weight", "io.bfq.weight"})
      EXPECT_EQ(fake.Value(file), std::string(file) == lacking ? "none" : "30") << lacking;
  }
}

TEST(Cgroup, ASharesControllerThatIsRefusedIsASetupError) {
  FakeCgroups fake(kAllFiles);  // without a cgroup.subtree_control
  const auto group = CgroupParent(fake.path(), {.cpu = true, .io = true}).Create(Shares());
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, ErrorCode::kSetup);
  EXPECT_EQ(fake.count(), 0);
}

TEST(Cgroup, AGroupOfOurOwnMakesRoomFirst) {
  FakeCgroups fake(kAllFiles);
  std::ofstream(fake.path() + "/cgroup.procs").flush();
  std::ofstream(fake.path() + "/cgroup.subtree_control").flush();
  auto group = CgroupParent(fake.path(), kBoth, true).Create({});
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_TRUE(std::filesystem::exists(fake.path() + "/native-runner-host/cgroup.procs"));
}

TEST(Cgroup, AGroupWithProcessesOfOthersIsNotTaken) {
  FakeCgroups fake(kAllFiles);
  std::ofstream(fake.path() + "/cgroup.procs") << "2\n";  // the kernel's, or nobody's
  auto group = CgroupParent(fake.path(), kBoth, true).Create({});
  ASSERT_FALSE(group);
  EXPECT_NE(group.error().message.find("others have processes"), std::string::npos);
}

TEST(IoWeights, SaysWhyThereAreNone) {
  EXPECT_NE(WhyNoIoWeights("/nonexistent").find("can't be looked at"), std::string::npos);
  EXPECT_NE(WhyNoIoWeights("/proc").find("on no disk"), std::string::npos);
}

TEST(Cgroup, DoesWithoutSwapAccounting) {
  FakeCgroups fake({"cgroup.procs", "memory.max", "pids.max"});
  auto group = CgroupParent(fake.path(), kBoth).Create(MemoryAndProcesses());
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(fake.Value("memory.max"), "300000000");
  EXPECT_EQ(fake.Value("pids.max"), "12");
}

TEST(Cgroup, ALimitThatIsRefusedIsASetupErrorAndLeavesNothing) {
  for (const char* lacking : {"memory.max", "pids.max"}) {
    std::set<std::string> files = kAllFiles;
    files.erase(lacking);
    FakeCgroups fake(files);
    const auto group = CgroupParent(fake.path(), kBoth).Create(MemoryAndProcesses());
    ASSERT_FALSE(group) << lacking;
    EXPECT_EQ(group.error().code, ErrorCode::kSetup);
    EXPECT_NE(group.error().message.find(fake.path()), std::string::npos);
    EXPECT_EQ(fake.count(), 0);
  }
}

TEST(Cgroup, AParentThatIsGoneIsASetupError) {
  const auto group = CgroupParent("/nonexistent", kBoth).Create({});
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, ErrorCode::kSetup);
}

TEST(Cgroup, TakesProcesses) {
  FakeCgroups fake(kAllFiles);
  auto group = CgroupParent(fake.path(), kBoth).Create({});
  ASSERT_TRUE(group);
  EXPECT_TRUE((*group)->Add(4321));
  EXPECT_EQ(fake.Value("cgroup.procs"), "4321");
}

TEST(Cgroup, SaysWhenAProcessCannotBeAdded) {
  FakeCgroups fake({"memory.max"});
  auto group = CgroupParent(fake.path(), kBoth).Create({});
  ASSERT_TRUE(group);
  EXPECT_FALSE((*group)->Add(4321));
}

TEST(Cgroup, ReadsWhetherMemoryEndedAProcess) {
  struct Case {
    const char* events;
    bool killed;
  };
  FakeCgroups fake(kAllFiles);
  auto group = CgroupParent(fake.path(), kBoth).Create({});
  ASSERT_TRUE(group);
  EXPECT_FALSE((*group)->MemoryKilled());
  for (const Case& row :
       {Case{"low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\n", false},
        Case{"low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n", true},
        Case{"oom_kill 37", true}, Case{"oom 5\noom_group_kill 2\n", false},
        Case{"oom_kill\n", false}, Case{"", false}}) {
    fake.Set("memory.events", row.events);
    EXPECT_EQ((*group)->MemoryKilled(), row.killed) << row.events;
  }
}

TEST(Cgroup, IsRemovedWithItsObjectOrLater) {
  FakeCgroups fake(kAllFiles);
  CgroupParent parent(fake.path(), kBoth);
  auto first = parent.Create({});
  auto second = parent.Create({});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(fake.count(), 2) << "each has a name of its own";
  first->reset();
  EXPECT_EQ(fake.count(), 1);
  fake.set_busy(true);
  second->reset();
  EXPECT_EQ(fake.count(), 1);
  fake.set_busy(false);
  auto third = parent.Create({});  // tries again
  EXPECT_EQ(fake.count(), 1);
  third->reset();
  EXPECT_EQ(fake.count(), 0);
}

TEST(CgroupParent, RemovesTheLeavesOfHostsThatAreGone) {
  FakeCgroups fake(kAllFiles);
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  const auto make = [&](const std::string& name) {
    ASSERT_EQ(mkdir((fake.path() + "/" + name).c_str(), 0755), 0) << name;
  };
  make("native-runner-" + std::to_string(gone) + "-5-0");
  make("native-runner-" + std::to_string(gone) + "-5-1");
  make("native-runner-" + std::to_string(getpid()) + "-5-0");
  make("native-runner-" + std::to_string(gone));  // none of ours
  make("native-runner-x-5-0");
  make("somebody-else-" + std::to_string(gone) + "-5-0");
  fake.set_busy(true);
  const CgroupParent busy(fake.path(), kBoth);
  EXPECT_EQ(fake.count(), 6);
  fake.set_busy(false);
  const CgroupParent parent(fake.path(), kBoth);
  EXPECT_EQ(fake.count(), 4);
}

TEST(Cgroup, MayOutliveItsParent) {
  FakeCgroups fake(kAllFiles);
  auto parent = std::make_unique<CgroupParent>(fake.path(), kBoth);
  auto group = parent->Create({});
  ASSERT_TRUE(group);
  parent.reset();
  fake.set_busy(true);
  group->reset();
}

TEST(CgroupParent, OneThatWasNotFoundHasNoController) {
  const CgroupParent none;
  EXPECT_FALSE(none.controllers().any());
  const CgroupParent found = CgroupParent::Detect();  // whatever is here: it must not fail
  static_cast<void>(found.controllers());
}

// The real thing, without controllers: membership and removal are the kernel's.
TEST(CgroupParent, WorksInARealHierarchy) {
  std::string mount;
  for (const char* candidate : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (access((std::string(candidate) + "/cgroup.controllers").c_str(), F_OK) == 0)
      mount = candidate;
  }
  if (mount.empty()) GTEST_SKIP() << "cgroup v2 is not mounted here";
  if (access((mount + "/cgroup.procs").c_str(), W_OK) != 0) {
    GTEST_SKIP() << mount << " is not writable";
  }
  CgroupParent parent(mount, {});
  auto group = parent.Create({});
  if (!group) GTEST_SKIP() << group.error().message;
  auto child = Child::Spawn(ShellOrder("exec sleep 60"));
  ASSERT_TRUE(child);
  const KilledAtEnd end(&*child);
  if (!(*group)->Add(child->pid())) GTEST_SKIP() << "processes can't be moved in " << mount;
  std::ostringstream of_child;
  of_child << std::ifstream("/proc/" + std::to_string(child->pid()) + "/cgroup").rdbuf();
  const std::string name = "/native-runner-" + std::to_string(getpid()) + "-";
  EXPECT_NE(of_child.str().find("0::" + name), std::string::npos) << of_child.str();
  EXPECT_FALSE((*group)->MemoryKilled());

  const auto ours = [&] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(mount)) {
      if (entry.path().string().starts_with(mount + name)) ++count;
    }
    return count;
  };
  group->reset();  // busy
  EXPECT_EQ(ours(), 1);
  child->Signal(SIGKILL);
  ASSERT_TRUE(WaitForExit(child->pidfd()));
  child->Reap();
  auto next = parent.Create({});  // removes the one before
  ASSERT_TRUE(next);
  EXPECT_EQ(ours(), 1);
  next->reset();
  EXPECT_EQ(ours(), 0);
}

}  // namespace
}  // namespace native_runner
