#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "tests/workspace/support/own_mounts.h"
#include "tests/workspace/support/tree.h"
#include "workspace/files/directory_entries.h"

namespace native_runner {
namespace {

using Names = std::set<std::string>;

std::string Remove(const Tree& tree, std::string_view path, bool recursive = false) {
  return OutcomeOf(RemoveEntry(tree.Root(), path, recursive));
}

TEST(RemoveEntryTest, RemovesFilesLinksAndEmptyDirectories) {
  const Tree tree;
  std::filesystem::create_directory(tree.Path("empty"));
  tree.Link("../outside", "link");
  tree.Link("../outside/file", "to-file");
  ASSERT_EQ(mkfifo(tree.Path("fifo").c_str(), 0644), 0);
  for (const char* name : {"empty", "link", "to-file", "fifo", "file"})
    EXPECT_EQ(Remove(tree, name), "") << name;
  EXPECT_EQ(tree.Names(), Names{"inner"});
  EXPECT_EQ(tree.Secret(), "secret");
  EXPECT_EQ(Remove(tree, "inner"), "ENOTEMPTY");
  EXPECT_EQ(Remove(tree, "none"), "ENOENT");
  EXPECT_EQ(Remove(tree, "none", true), "ENOENT");
  EXPECT_EQ(Remove(tree, "", true), "EBUSY");
  EXPECT_TRUE(tree.Has("inner/file"));
}

TEST(RemoveEntryTest, ALinkIsNoWayInToAnythingElse) {
  const Tree tree;
  tree.Link("../outside", "link");
  tree.Link("../../outside", "inner/link");
  EXPECT_EQ(Remove(tree, "link/file"), "ELOOP");
  EXPECT_EQ(Remove(tree, "link/file", true), "ELOOP");
  EXPECT_EQ(Remove(tree, "inner", true), "");
  EXPECT_EQ(Remove(tree, "link", true), "");
  EXPECT_EQ(tree.Secret(), "secret");
  EXPECT_EQ(tree.Names(), Names{"file"});
}

TEST(RemoveEntryTest, WideAndDeepTreesGo) {
  const Tree tree;
  for (int i = 0; i < 2000; ++i)
    tree.Write("inner/file-with-a-longer-name-" + std::to_string(i), "");
  Descriptor at(open(tree.Path("inner").c_str(), O_PATH | O_CLOEXEC));
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0755), 0);
    ASSERT_EQ(mkdirat(at.get(), "e", 0755), 0);
    at = Descriptor(openat(at.get(), "d", O_PATH | O_CLOEXEC));
    close(openat(at.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  EXPECT_EQ(Remove(tree, "inner"), "ENOTEMPTY");
  EXPECT_EQ(Remove(tree, "inner", true), "");
  EXPECT_EQ(tree.Names(), Names{"file"});
}

TEST(RemoveEntryTest, ModesOfItsOwnDirectoriesDoNotKeepIt) {
  const Tree tree;
  std::filesystem::create_directories(tree.Path("inner/locked/deep"));
  tree.Write("inner/locked/deep/file", "");
  for (const char* name : {"inner/locked/deep", "inner/locked", "inner"})
    ASSERT_EQ(chmod(tree.Path(name).c_str(), 0), 0);
  EXPECT_EQ(Remove(tree, "inner", true), "");
  EXPECT_EQ(tree.Names(), Names{"file"});
}

TEST(RemoveEntryTest, NothingThatIsMountedThereGoes) {
  const Tree tree;
  const pid_t child = fork();
  if (child == 0) {
    const std::string at = tree.Path("inner/mounted");
    mkdir(at.c_str(), 0755);
    const std::string outside = tree.place().Path("outside");
    if (!HasOwnMounts() || mount(outside.c_str(), at.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      _exit(77);
    }
    if (Contents(tree.Root(), "inner/mounted/file") != "secret") _exit(2);  // commands see it too
    _exit(Remove(tree, "inner", true) == "EBUSY" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(tree.Secret(), "secret");
}

// A thread swaps a directory of the tree for a link to another one all the time.
TEST(RemoveEntryTest, WhatIsSwappedMeanwhileLeadsNowhere) {
  const Tree tree;
  const Beneath root = tree.Root();
  tree.Link("../../outside", "link");
  std::atomic<bool> stop = false;
  std::atomic<int> swaps = 0;
  std::thread swapper([&] {
    while (!stop) {
      if (syscall(SYS_renameat2, AT_FDCWD, tree.Path("gone/d").c_str(), AT_FDCWD,
                  tree.Path("link").c_str(), 2 /* RENAME_EXCHANGE */) == 0) {
        ++swaps;
      }
    }
  });
  for (int i = 0; i < 300; ++i) {
    MakeDirectory(root, "gone/d/d", {true, 0755}).ok();
    RemoveEntry(root, "gone", true).ok();
    ASSERT_EQ(tree.Secret(), "secret");
  }
  stop = true;
  swapper.join();
  EXPECT_GT(swaps, 0) << "the control: nothing was ever swapped";
}

TEST(MakeDirectoryTest, MakesOneOrAll) {
  const Tree tree;
  const Beneath root = tree.Root();
  tree.Link("../outside", "out");
  const auto make = [&root](std::string_view path, bool recursive) {
    return OutcomeOf(MakeDirectory(root, path, {recursive, 0777}));
  };
  EXPECT_EQ(make("a", false), "");
  EXPECT_EQ(make("a", false), "EEXIST");
  EXPECT_EQ(make("a", true), "");
  EXPECT_EQ(make("b/c/d", false), "ENOENT");
  EXPECT_EQ(make("b/c/d", true), "");
  EXPECT_TRUE(tree.Has("b/c/d"));
  EXPECT_EQ(make("file", true), "EEXIST");
  EXPECT_EQ(make("file/a", true), "ENOTDIR");
  EXPECT_EQ(make("out/a", false), "ELOOP");
  EXPECT_EQ(make("out/a", true), "ELOOP");
  EXPECT_EQ(make("out", false), "EEXIST");
  EXPECT_EQ(make("", true), "");
  EXPECT_EQ(make("", false), "EEXIST");
  EXPECT_FALSE(tree.place().Has("outside/a"));
}

TEST(RenameEntryTest, RenamesTheEntryItself) {
  const Tree tree;
  const Beneath root = tree.Root();
  tree.Link("../outside/file", "link");
  tree.Link("../outside", "out");
  const auto rename = [&root](std::string_view from, std::string_view to) {
    return OutcomeOf(RenameEntry(root, from, to));
  };
  EXPECT_EQ(rename("file", "inner/moved"), "");
  EXPECT_EQ(tree.Text("inner/moved"), "inside");
  EXPECT_EQ(rename("inner/moved", "link"), "");  // takes the link's place
  EXPECT_EQ(tree.Text("link"), "inside");
  EXPECT_EQ(tree.Secret(), "secret");
  EXPECT_EQ(rename("out/file", "stolen"), "ELOOP");
  EXPECT_EQ(rename("link", "out/planted"), "ELOOP");
  EXPECT_EQ(rename("none", "x"), "ENOENT");
  EXPECT_EQ(rename("inner", "inner/below"), "EINVAL");
  EXPECT_EQ(rename("link", "inner"), "EISDIR");
  EXPECT_EQ(rename("", "x"), "EBUSY");
  EXPECT_EQ(rename("link", ""), "EBUSY");
  EXPECT_FALSE(tree.place().Has("outside/planted"));
}

}  // namespace
}  // namespace native_runner
