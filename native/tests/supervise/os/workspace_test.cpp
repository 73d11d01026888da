#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "supervise/os/file.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

TEST(Workspace, IsOpenedByItsRealPath) {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.Path("real/deep"));
  std::filesystem::create_symlink("real", directory.Path("link"));
  for (const char* name : {"real/deep", "link/deep", "real/../link/./deep", "real/deep/"}) {
    auto workspace = OpenWorkspace(directory.Path(name));
    ASSERT_TRUE(workspace) << workspace.error().message;
    EXPECT_EQ(workspace->path, directory.Path("real/deep")) << name;
  }
}

TEST(Workspace, ALinkItselfIsResolved) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.Path("real"));
  std::filesystem::create_symlink(directory.Path("real"), directory.Path("link"));
  auto workspace = OpenWorkspace(directory.Path("link"));
  ASSERT_TRUE(workspace);
  EXPECT_EQ(workspace->path, directory.Path("real"));
}

TEST(Workspace, StaysTheSameDirectoryWhenItsNameIsGivenToAnother) {
  const TempDirectory directory;
  std::filesystem::create_directory(directory.Path("work"));
  directory.Write("work/mark", "");
  auto workspace = OpenWorkspace(directory.Path("work"));
  ASSERT_TRUE(workspace);
  std::filesystem::rename(directory.Path("work"), directory.Path("moved"));
  std::filesystem::create_directory(directory.Path("work"));
  EXPECT_EQ(faccessat(workspace->directory.get(), "mark", F_OK, 0), 0);
}

TEST(Workspace, IsPinnedOnlyAndCloseOnExec) {
  const TempDirectory directory;
  auto workspace = OpenWorkspace(directory.path());
  ASSERT_TRUE(workspace);
  const int fd = workspace->directory.get();
  EXPECT_NE(fcntl(fd, F_GETFL) & O_PATH, 0);
  EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Workspace, WhatIsNoDirectoryIsASetupErrorThatNamesIt) {
  const TempDirectory directory;
  const std::string file = directory.Write("file", "text");
  std::filesystem::create_symlink("nowhere", directory.Path("dangling"));
  std::filesystem::create_symlink("file", directory.Path("to-file"));
  struct Case {
    std::string path;
    const char* cause;
  };
  for (const Case& row :
       {Case{directory.Path("missing"), "No such file or directory"},
        Case{directory.Path("dangling"), "No such file or directory"},
        Case{file, "Not a directory"}, Case{directory.Path("to-file"), "Not a directory"},
        Case{"", "No such file or directory"}}) {
    const auto workspace = OpenWorkspace(row.path);
    ASSERT_FALSE(workspace) << row.path;
    EXPECT_EQ(workspace.error().code, ErrorCode::kSetup);
    EXPECT_EQ(workspace.error().message, "shadowDir must be a directory when a run starts, got \"" +
                                             row.path + "\": " + row.cause);
    EXPECT_FALSE(workspace.error().fix.empty());
  }
}

}  // namespace
}  // namespace native_runner
