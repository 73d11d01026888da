#include <gtest/gtest.h>

#include "policy/text/path.h"

namespace native_runner {
namespace {

constexpr std::string_view kExec = "NativeRunner.exec";

TEST(WorkspaceRelative, NormalisesWhatStaysInside) {
  struct Case {
    const char* cwd;
    const char* relative;
  };
  for (const Case& c : {
           Case{"", ""},
           Case{".", ""},
           Case{"/", ""},
           Case{"//", ""},
           Case{"./", ""},
           Case{"workspace", ""},
           Case{"/workspace", ""},
           Case{"/workspace/", ""},
           Case{"//workspace//.", ""},
           Case{"a/b", "a/b"},
           Case{"/a/b", "a/b"},
           Case{"workspace/a", "a"},
           Case{"/workspace/a", "a"},
           Case{"./workspace/a", "a"},
           Case{"a//b///c/", "a/b/c"},
           Case{"a/./b/.", "a/b"},
           Case{"a/../b", "b"},
           Case{"a/b/../../c", "c"},
           Case{"a/..", ""},
           Case{"/workspace/a/..", ""},
           Case{"/workspace2", "workspace2"},
           Case{"/workspace/workspace", "workspace"},
           Case{"a/workspace", "a/workspace"},
           Case{"..a/b..", "..a/b.."},
           Case{"...", "..."},
           Case{"-rf", "-rf"},
           Case{" a\nb", " a\nb"},
           Case{"grün/日本", "grün/日本"},
       }) {
    const Result<std::string> result = WorkspaceRelative(c.cwd, kExec);
    ASSERT_TRUE(result.ok()) << c.cwd;
    EXPECT_EQ(result.value(), c.relative) << c.cwd;
  }
}

TEST(WorkspaceRelative, RefusesWhatLeaves) {
  for (const char* cwd : {"..", "../x", "/..", "a/../../x", "/workspace/..", "/workspace/../x",
                          "workspace/../x", "./..", "a/b/../../..", "//..//", "/../workspace"}) {
    const Result<std::string> result = WorkspaceRelative(cwd, kExec);
    ASSERT_FALSE(result.ok()) << cwd;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidValue);
    EXPECT_EQ(
        result.error().message,
        "NativeRunner.exec: cwd must stay inside the workspace, got \"" + std::string(cwd) + "\"");
    EXPECT_EQ(WorkspaceRelative(cwd, "LocalNativeRunner").error().message,
              "LocalNativeRunner: cwd must be workspace-relative (no '..')");
  }
}

TEST(WorkspaceRelative, RefusesNulBytes) {
  for (const std::string_view label : {kExec, std::string_view("LocalNativeRunner")}) {
    const Result<std::string> result = WorkspaceRelative(std::string_view("a\0b", 3), label);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidValue);
    EXPECT_EQ(result.error().message.find(std::string(label) + ": cwd must not contain NUL"), 0u);
  }
}

TEST(JoinPath, PutsOneSlashBetween) {
  EXPECT_EQ(JoinPath("/workspace", ""), "/workspace");
  EXPECT_EQ(JoinPath("/workspace", "a/b"), "/workspace/a/b");
  EXPECT_EQ(JoinPath("/", "a"), "/a");
  EXPECT_EQ(JoinPath("/", ""), "/");
}

TEST(BelowWorkspace, TakesWhatBeginsThereAndLeavesTheRest) {
  struct Case {
    const char* path;
    const char* relative;  // null: it leaves the workspace
  };
  for (const Case& c : {
           Case{"/srv/a", ""},
           Case{"/srv/a/", ""},
           Case{"//srv/./a//", ""},
           Case{"/srv/a/b/c", "b/c"},
           Case{"/srv/a/workspace/b", "workspace/b"},
           Case{"/srv/a/srv/a", "srv/a"},
           Case{"/srv/a/b/../c", "c"},
           Case{"/srv/ab", "srv/ab"},
           Case{"/srv", "srv"},
           Case{"srv/a/b", "srv/a/b"},
           Case{"b", "b"},
           Case{"/workspace/b", "b"},
           Case{"", ""},
           Case{"/srv/a/..", nullptr},
           Case{"/srv/a/../a/b", nullptr},
           Case{"/srv/a/b/../../..", nullptr},
       }) {
    const auto relative = WorkspaceRelative(BelowWorkspace(c.path, "/srv/a"), kExec);
    EXPECT_EQ(static_cast<bool>(relative), c.relative != nullptr) << c.path;
    if (relative && c.relative != nullptr) {
      EXPECT_EQ(relative.value(), c.relative) << c.path;
    }
    EXPECT_EQ(BelowWorkspace(c.path, kWorkspace), c.path);
  }
}

}  // namespace
}  // namespace native_runner
