#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <vector>

#include "tests/workspace/support/own_mounts.h"
#include "tests/workspace/support/tree.h"
#include "tests/workspace/support/writing.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat seen {};
  return stat(path.c_str(), &seen) == 0 ? seen.st_mode & 07777U : 0;
}

TEST(WriteFileTest, MakesAndReplaces) {
  const Tree tree;
  const Beneath root = tree.Root();
  for (const char* path : {"new", "file", "inner/new", "inner/file"}) {
    const auto written = Write(root, path, "text");
    ASSERT_TRUE(written) << path << OutcomeOf(written);
    EXPECT_EQ(tree.Text(path), "text");
    EXPECT_EQ(written.value().version, VersionOf(root, path));
    EXPECT_EQ(written.value().size, 4U);
  }
  EXPECT_EQ(OutcomeOf(Write(root, "file", "")), "");
  EXPECT_EQ(tree.Text("file"), "");
  EXPECT_EQ(tree.Names(), (std::set<std::string>{"file", "inner", "new"}));
}

TEST(WriteFileTest, FlushesOnRequest) {
  const Tree tree;
  WriteRule rule;
  rule.flush = true;
  EXPECT_EQ(OutcomeOf(Write(tree.Root(), "inner/file", "text", rule)), "");
  EXPECT_EQ(tree.Text("inner/file"), "text");
}

TEST(WriteFileTest, KeepsTheModeUnlessThereIsAnother) {
  const Tree tree;
  const mode_t before = umask(027);
  for (const mode_t mode : {0600U, 0755U, 0666U}) {
    tree.Write("moded", "old", mode);
    ASSERT_TRUE(Write(tree.Root(), "moded", "new"));
    EXPECT_EQ(ModeOf(tree.Path("moded")), mode);
  }
  tree.Write("setuid", "old");
  ASSERT_EQ(chmod(tree.Path("setuid").c_str(), 04755), 0);
  ASSERT_TRUE(Write(tree.Root(), "setuid", "new"));
  EXPECT_EQ(ModeOf(tree.Path("setuid")), 0755U);  // as write(2) would
  ASSERT_TRUE(Write(tree.Root(), "new", "text"));
  EXPECT_EQ(ModeOf(tree.Path("new")), 0640U);
  WriteRule rule;
  rule.mode = 0777;
  ASSERT_TRUE(Write(tree.Root(), "new", "text", rule));
  EXPECT_EQ(ModeOf(tree.Path("new")), 0777U);
  umask(before);
}

TEST(WriteFileTest, KeepsTheOwnerWhereThatIsPermitted) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const Tree tree;
  ASSERT_EQ(chown(tree.Path("file").c_str(), 1234, 4321), 0);
  ASSERT_TRUE(Write(tree.Root(), "file", "text"));
  struct stat seen {};
  ASSERT_EQ(stat(tree.Path("file").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_uid, 1234U);
  EXPECT_EQ(seen.st_gid, 4321U);
}

TEST(WriteFileTest, WhatIsNoFileStaysAsItIs) {
  const Tree tree;
  const Beneath root = tree.Root();
  tree.Link("../outside/file", "link");
  tree.Link("../outside", "directory");
  tree.Link("nowhere", "dangling");
  ASSERT_EQ(mkfifo(tree.Path("fifo").c_str(), 0644), 0);
  EXPECT_EQ(OutcomeOf(Write(root, "link", "x")), "ELOOP");
  EXPECT_EQ(OutcomeOf(Write(root, "directory/file", "x")), "ELOOP");
  EXPECT_EQ(OutcomeOf(Write(root, "directory/new", "x")), "ELOOP");
  EXPECT_EQ(OutcomeOf(Write(root, "dangling", "x")), "ELOOP");
  EXPECT_EQ(OutcomeOf(Write(root, "fifo", "x")), "ENXIO");
  EXPECT_EQ(OutcomeOf(Write(root, "inner", "x")), "EISDIR");
  EXPECT_EQ(OutcomeOf(Write(root, "", "x")), "EISDIR");
  EXPECT_EQ(OutcomeOf(Write(root, "none/new", "x")), "ENOENT");
  EXPECT_EQ(OutcomeOf(Write(root, "file/new", "x")), "ENOTDIR");
  EXPECT_EQ(tree.Secret(), "secret");
  EXPECT_FALSE(tree.place().Has("outside/new"));
  EXPECT_EQ(tree.Names(),
            (std::set<std::string>{"dangling", "directory", "fifo", "file", "inner", "link"}));
  EXPECT_EQ(OutcomeOf(Write(root, "file", "x")), "");  // the control
}

TEST(WriteFileTest, AHardLinkElsewhereKeepsTheOldContent) {
  const Tree tree;
  const std::string elsewhere = tree.place().Path("outside/hard");
  ASSERT_EQ(link(tree.Path("file").c_str(), elsewhere.c_str()), 0);
  ASSERT_TRUE(Write(tree.Root(), "file", "new"));
  EXPECT_EQ(tree.Text("file"), "new");
  EXPECT_EQ(tree.place().Read("outside/hard"), "inside");
}

TEST(WriteFileTest, AFileThatMayNotBeWrittenIsNotReplaced) {
  if (geteuid() == 0) GTEST_SKIP() << "root writes everything";
  const Tree tree;
  tree.Write("fixed", "old", 0444);
  EXPECT_EQ(OutcomeOf(Write(tree.Root(), "fixed", "new")), "EACCES");
  EXPECT_EQ(tree.Text("fixed"), "old");
  ASSERT_EQ(chmod(tree.Path("inner").c_str(), 0555), 0);
  EXPECT_EQ(OutcomeOf(Write(tree.Root(), "inner/new", "x")), "EACCES");
}

TEST(WriteFileTest, NothingMayHaveTheName) {
  const Tree tree;
  tree.Link("nowhere", "dangling");
  EXPECT_EQ(OutcomeOf(Write(tree.Root(), "file", "x", Absent())), "EEXIST");
  EXPECT_EQ(OutcomeOf(Write(tree.Root(), "inner", "x", Absent())), "EEXIST");
  EXPECT_EQ(OutcomeOf(Write(tree.Root(), "dangling", "x", Absent())), "EEXIST");
  EXPECT_EQ(tree.Text("file"), "inside");
  EXPECT_EQ(OutcomeOf(Write(tree.Root(), "new", "x", Absent())), "");
  EXPECT_EQ(OutcomeOf(Write(tree.Root(), "new", "y", Absent())), "EEXIST");
  EXPECT_EQ(tree.Text("new"), "x");
}

TEST(WriteFileTest, AnUnchangedFileIsReplaced) {
  const Tree tree;
  const Beneath root = tree.Root();
  FileVersion version = VersionOf(root, "file");
  for (const char* text : {"one", "two", "three"}) {
    const auto written = Write(root, "file", text, Unchanged(version));
    ASSERT_TRUE(written) << OutcomeOf(written);
    EXPECT_EQ(tree.Text("file"), text);
    version = written.value().version;
  }
  EXPECT_EQ(tree.Names(), (std::set<std::string>{"file", "inner"}));
}

// All that can happen to a file between a stat and a write.
TEST(WriteFileTest, AChangedFileStays) {
  struct Case {
    const char* name;
    void (*change)(const Tree& tree);
  };
  const std::vector<Case> cases = {
      {"other content", [](const Tree& tree) { tree.Write("file", "other content"); }},
      {"content of the same size", [](const Tree& tree) { tree.Write("file", "INSIDE"); }},
      {"a forged time",
       [](const Tree& tree) {
         struct stat seen {};
         stat(tree.Path("file").c_str(), &seen);
         tree.Write("file", "INSIDE");
         const timespec times[2] = {seen.st_atim, seen.st_mtim};
         utimensat(AT_FDCWD, tree.Path("file").c_str(), times, 0);
       }},
      {"another file",
       [](const Tree& tree) {
         tree.Write("other", "inside");
         std::filesystem::rename(tree.Path("other"), tree.Path("file"));
       }},
      {"another mode", [](const Tree& tree) { chmod(tree.Path("file").c_str(), 0600); }},
      {"no file", [](const Tree& tree) { std::filesystem::remove(tree.Path("file")); }},
  };
  for (const Case& each : cases) {
    const Tree tree;
    const FileVersion version = VersionOf(tree.Root(), "file");
    usleep(20'000);  // a tick of the kernel's clock
    each.change(tree);
    const std::string before = tree.Text("file");
    EXPECT_EQ(OutcomeOf(Write(tree.Root(), "file", "mine", Unchanged(version))), "changed")
        << each.name;
    EXPECT_EQ(tree.Text("file"), before) << each.name;
    EXPECT_FALSE(tree.Names().contains("mine"));
  }
}

// Returns the result of `body`, which runs in a process of its own; 99 if that fails.
int InChild(int (*body)(const std::string& workspace), const std::string& workspace) {
  const pid_t child = fork();
  if (child == 0) _exit(body(workspace));
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(WriteFileTest, AWriteThatFailsHalfwayLeavesWhatWasThere) {
  const Tree tree;
  const int seen = InChild(
      [](const std::string& workspace) {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit limit = {100'000, 100'000};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
        const auto root = Beneath::Open(workspace);
        const auto written = Write(root.value(), "file", std::string(200'000, 'x'));
        if (written) return 3;
        const auto made = Write(root.value(), "new", std::string(200'000, 'x'));
        if (made) return 4;
        return written.error().number == EFBIG && made.error().number == EFBIG ? 0 : 5;
      },
      tree.Path(""));
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(tree.Text("file"), "inside");
  EXPECT_EQ(tree.Names(), (std::set<std::string>{"file", "inner"}));
}

TEST(WriteFileTest, AFullFileSystemLeavesWhatWasThere) {
  const Tree tree;
  const int seen = InChild(
      [](const std::string& workspace) {
        if (!HasOwnMounts()) return 77;
        if (mount("none", workspace.c_str(), "tmpfs", 0, "size=256k") != 0) return 77;
        const auto root = Beneath::Open(workspace);
        if (!Write(root.value(), "file", "old")) return 2;
        const auto written = Write(root.value(), "file", std::string(1'000'000, 'x'));
        if (written || written.error().number != ENOSPC) return 3;
        if (Contents(root.value(), "file") != "old") return 4;
        int names = 0;
        for (const auto& entry : std::filesystem::directory_iterator(workspace))
          names += entry.exists() ? 1 : 0;
        if (names != 1) return 5;
        return Write(root.value(), "file", std::string(100'000, 'x')) ? 0 : 6;
      },
      tree.Path(""));
  if (seen == 77) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(seen, 0);
}

// Killed at any moment, it has written or not.
TEST(WriteFileTest, AKilledWriterLeavesOldOrNew) {
  const Tree tree;
  const std::string old(200'000, 'o');
  const std::string next(300'000, 'n');
  int kept = 0;
  int replaced = 0;
  for (int round = 0; round < 60; ++round) {
    ASSERT_TRUE(Write(tree.Root(), "file", old));
    const pid_t child = fork();
    if (child == 0) {
      Write(Beneath::Open(tree.Path("")).value(), "file", next).ok();
      _exit(0);
    }
    usleep(static_cast<useconds_t>(round * 40));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string text = tree.Text("file");
    kept += text == old ? 1 : 0;
    replaced += text == next ? 1 : 0;
    ASSERT_TRUE(text == old || text == next) << text.size();
  }
  EXPECT_EQ(kept + replaced, 60);
}

}  // namespace
}  // namespace native_runner
