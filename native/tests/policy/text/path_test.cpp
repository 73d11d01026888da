#include "policy/text/path.h"

#include <gtest/gtest.h>

namespace native_runner {
namespace {

TEST(NormalPath, LeavesOutWhatDoesNotCount) {
  EXPECT_EQ(NormalPath("/"), "/");
  EXPECT_EQ(NormalPath(""), "/");
  EXPECT_EQ(NormalPath("//"), "/");
  EXPECT_EQ(NormalPath("/./"), "/");
  EXPECT_EQ(NormalPath("/usr//lib/./x/"), "/usr/lib/x");
  EXPECT_EQ(NormalPath("/usr/../etc"), "/etc");
  EXPECT_EQ(NormalPath("/../../etc"), "/etc");
  EXPECT_EQ(NormalPath("/a../..b/..."), "/a../..b/...");
}

TEST(PathCovers, ComparesWholeComponents) {
  EXPECT_TRUE(PathCovers("/etc", "/etc"));
  EXPECT_TRUE(PathCovers("/etc/", "/etc/ssl/private"));
  EXPECT_TRUE(PathCovers("/", "/etc"));
  EXPECT_TRUE(PathCovers("/", "/"));
  EXPECT_TRUE(PathCovers("//etc/.", "/etc/shadow"));
  EXPECT_FALSE(PathCovers("/etc", "/etcetera"));
  EXPECT_FALSE(PathCovers("/etc/ssl", "/etc"));
  EXPECT_FALSE(PathCovers("/etc", "/etc/../root"));
}

TEST(SamePath, IgnoresSpelling) {
  EXPECT_TRUE(SamePath("/bin", "//bin/."));
  EXPECT_TRUE(SamePath("/", ""));
  EXPECT_TRUE(SamePath("/usr/../bin", "/bin"));
  EXPECT_FALSE(SamePath("/bin", "/bin/sh"));
  EXPECT_FALSE(SamePath("/bin/sh", "/bin"));
}

TEST(HasParentComponent, LooksAtWholeComponents) {
  EXPECT_TRUE(HasParentComponent(".."));
  EXPECT_TRUE(HasParentComponent("/a/.."));
  EXPECT_TRUE(HasParentComponent("/../a"));
  EXPECT_FALSE(HasParentComponent("/a..b/...c/..d"));
  EXPECT_FALSE(HasParentComponent(""));
}

TEST(LinkTarget, ResolvesAgainstTheLinksDirectory) {
  EXPECT_EQ(LinkTarget("/bin", "usr/bin"), "/usr/bin");
  EXPECT_EQ(LinkTarget("/bin", "/usr/bin"), "/usr/bin");
  EXPECT_EQ(LinkTarget("/usr/lib/a", "../share"), "/usr/share");
  EXPECT_EQ(LinkTarget("/a/b/c", "../../../../x"), "/x");
}

}  // namespace
}  // namespace native_runner
