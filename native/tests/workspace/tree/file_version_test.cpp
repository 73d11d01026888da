#include <gtest/gtest.h>

#include "workspace/tree/file_stat.h"

namespace native_runner {
namespace {

TEST(FileVersionTest, IsTheSameAfterItsText) {
  const FileVersion version = {.device = 1,
                               .inode = UINT64_MAX,
                               .handle = 7,
                               .size = 0,
                               .modified = 0xABCDEF,
                               .changed = 16};
  EXPECT_EQ(version.Text(), "1-ffffffffffffffff-7-0-abcdef-10");
  EXPECT_EQ(FileVersion::Parse(version.Text()), version);
  EXPECT_EQ(FileVersion::Parse(FileVersion().Text()), FileVersion());
}

TEST(FileVersionTest, OtherTextsAreNone) {
  for (const char* text : {"", "-", "1-2-3-4-5", "1-2-3-4-5-", "1-2-3-4-5-6-", "1-2-3-4-5-6-7",
                           "1-2-3-4-5-g", " 1-2-3-4-5-6", "1-2-3-4-5-6 ", "1--3-4-5-6",
                           "0x1-2-3-4-5-6", "-1-2-3-4-5-6", "1-2-3-4-5-11111111111111111"}) {
    EXPECT_FALSE(FileVersion::Parse(text)) << text;
  }
}

}  // namespace
}  // namespace native_runner
