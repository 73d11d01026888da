#include <gtest/gtest.h>

#include "policy/transaction/change.h"

namespace native_runner {
namespace {

const std::vector<std::string> kNames = {".git/hooks", ".envrc"};

TEST(ProtectedPathTest, IsWhatHasTheNameAtAnyDepthAndAllBelow) {
  for (const char* path : {".envrc", "sub/.envrc", ".ENVRC", ".git/hooks", ".git/hooks/pre-commit",
                           "a/b/.git/hooks/x", ".Git/Hooks/x"})
    EXPECT_TRUE(IsProtected(path, false, kNames)) << path;
  for (const char* path : {"envrc", ".envrc2", "x.envrc", ".git/hook", ".git/hooks2", "git/hooks",
                           ".git/objects/hooks", "hooks"})
    EXPECT_FALSE(IsProtected(path, false, kNames)) << path;
}

TEST(ProtectedPathTest, WhatStandsAboveOneMustBeADirectory) {
  EXPECT_TRUE(IsProtected(".git", false, kNames));
  EXPECT_TRUE(IsProtected("sub/.git", false, kNames));
  EXPECT_FALSE(IsProtected(".git", true, kNames));
  EXPECT_FALSE(IsProtected("sub", false, kNames));
}

}  // namespace
}  // namespace native_runner
