#include <gtest/gtest.h>

#include "policy/git/patch.h"

namespace native_runner {
namespace {

constexpr auto kProgram = GitFile::Kind::kProgram;
constexpr auto kLink = GitFile::Kind::kLink;

std::optional<GitFile> File(std::string_view bytes, GitFile::Kind kind = GitFile::Kind::kFile) {
  return GitFile{kind, bytes};
}

TEST(GitPatch, OfAFileThatIsChanged) {
  EXPECT_EQ(
      GitPatch("d/f", File("a\nb\nc\nd\ne\nf\n"), File("a\nb\nc\nd\nE\nf\n")),
      "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n+E\n f\n");
}

TEST(GitPatch, OfOneThatIsMadeOrRemoved) {
  EXPECT_EQ(GitPatch("f", std::nullopt, File("x\ny")),
            "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n"
            "+x\n+y\n\\ No newline at end of file\n");
  EXPECT_EQ(GitPatch("f", File("x\n", kProgram), std::nullopt),
            "diff --git a/f b/f\ndeleted file mode 100755\n--- a/f\n+++ /dev/null\n"
            "@@ -1,1 +0,0 @@\n-x\n");
  EXPECT_EQ(GitPatch("f", std::nullopt, File("")), "diff --git a/f b/f\nnew file mode 100644\n");
}

TEST(GitPatch, OfAModeOnly) {
  EXPECT_EQ(GitPatch("f", File("x"), File("x", kProgram)),
            "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
  EXPECT_EQ(GitPatch("f", File("x"), File("x")), "");
}

TEST(GitPatch, OfALinkThatWasAFile) {
  const std::string patch = GitPatch("f", File("x\n"), File("x", kLink));
  EXPECT_NE(patch.find("deleted file mode 100644"), std::string::npos);
  EXPECT_NE(patch.find("new file mode 120000"), std::string::npos);
}

TEST(GitPatch, WhatIsNoTextIsBinary) {
  for (const char* bytes : {"\xff", "\xc3", "\xc0\x80", "\xe0\x9f\xbf", "\xed\xa0\x80",
                            "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\x80", "a\xe2\x82"})
    EXPECT_NE(GitPatch("f", File(""), File(bytes)).find("GIT binary patch"), std::string::npos);
  EXPECT_NE(GitPatch("f", File(std::string_view("\0", 1)), File("")).find("GIT binary patch"),
            std::string::npos);
  for (const char* bytes : {"a", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                            "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(GitPatch("f", File(""), File(bytes)).find("GIT binary patch"), std::string::npos);
}

TEST(GitPatch, OfAnotherName) {
  constexpr auto kFile = GitFile::Kind::kFile;
  EXPECT_EQ(GitRename("d/f", "g", kFile, kFile),
            "diff --git a/d/f b/g\nsimilarity index 100%\nrename from d/f\nrename to g\n");
  EXPECT_EQ(GitRename("a b", "\xff", kFile, kProgram),
            "diff --git \"a/a b\" \"b/\\377\"\nold mode 100644\nnew mode 100755\n"
            "similarity index 100%\nrename from \"a b\"\nrename to \"\\377\"\n");
}

TEST(GitPatch, PathsAreQuotedWhereTheyHaveTo) {
  EXPECT_EQ(GitQuoted("a/plain-1.txt"), "a/plain-1.txt");
  EXPECT_EQ(GitQuoted("a b"), "\"a b\"");
  EXPECT_EQ(GitQuoted("q\"\\\n\xff"), "\"q\\042\\134\\012\\377\"");
}

}  // namespace
}  // namespace native_runner
