#include <gtest/gtest.h>

#include "policy/git/patch.h"

namespace native_runner {
namespace {

// As `git hash-object` has them.
TEST(GitBinary, NamesAreGits) {
  EXPECT_EQ(GitBlobName(""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(GitBlobName("hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(GitBlobName(std::string(1'000, 'a')), "a50be72b20f0e3f078d252e8e56b11b4bec67509");
}

TEST(GitBinary, ALiteralSaysItsSizeAndEndsWithAnEmptyLine) {
  const std::string literal = GitLiteral(std::string("\0\1\xff", 3));
  EXPECT_EQ(literal.find("literal 3\n"), 0u);
  EXPECT_TRUE(literal.ends_with("\n\n"));
  EXPECT_EQ(GitLiteral("").find("literal 0\n"), 0u);
}

TEST(GitBinary, LinesAreAsLongAsTheirFirstCharacterSays) {
  const std::string literal = GitLiteral(std::string(200'000, 'x'));
  std::size_t at = literal.find('\n') + 1;
  while (literal[at] != '\n') {
    const char first = literal[at];
    const int bytes = first >= 'a' ? first - 'a' + 27 : first - 'A' + 1;
    const std::size_t end = literal.find('\n', at);
    ASSERT_EQ(end - at, 1u + static_cast<std::size_t>((bytes + 3) / 4 * 5));
    at = end + 1;
  }
}

}  // namespace
}  // namespace native_runner
