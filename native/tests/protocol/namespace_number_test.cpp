#include <gtest/gtest.h>

#include "protocol/identity.h"

namespace native_runner {
namespace {

TEST(NamespaceNumber, IsTheNumberInBrackets) {
  EXPECT_EQ(NamespaceNumber("mnt:[4026531841]"), 4026531841u);
  EXPECT_EQ(NamespaceNumber("pid_for_children:[7]"), 7u);
  EXPECT_EQ(NamespaceNumber("net:[18446744073709551615]"), UINT64_MAX);
}

TEST(NamespaceNumber, IsNoneForAnyOtherText) {
  for (const char* text :
       {"", "mnt", "mnt:", "mnt:4026531841", "mnt:[", "mnt:[]", "mnt:[12", "mnt:[12]x", "mnt:[-1]",
        "mnt:[1 2]", "mnt:[0x1]", "mnt:[18446744073709551616]"}) {
    EXPECT_EQ(NamespaceNumber(text), 0u) << text;
  }
}

}  // namespace
}  // namespace native_runner
