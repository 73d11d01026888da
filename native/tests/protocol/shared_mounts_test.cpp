#include <gtest/gtest.h>

#include <string>

#include "protocol/identity.h"

namespace native_runner {
namespace {

// Taken whole, and character by character: the answer is the same.
bool HasSharedMount(const std::string& table) {
  SharedMounts whole;
  whole.Take(table.data(), table.size());
  SharedMounts parts;
  for (const char& character : table)
    parts.Take(&character, 1);
  EXPECT_EQ(parts.found(), whole.found()) << table;
  return whole.found();
}

const std::string kOwn = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n";
const std::string kUnbindable = "28 27 0:21 / /a rw unbindable - tmpfs shared:1 rw\n";

TEST(SharedMounts, AreNoneWhereNoLineSaysSo) {
  EXPECT_FALSE(HasSharedMount(kOwn));
  EXPECT_FALSE(HasSharedMount(kOwn + kUnbindable));
  EXPECT_FALSE(HasSharedMount("30 27 0:3 / /master:1 rw - proc shared:2 rw,master:3\n"));
  EXPECT_FALSE(HasSharedMount("30 27 0:3 / /a\\040shared:1 rw - proc proc rw\n"));
}

TEST(SharedMounts, AreThoseOfEachKind) {
  for (const std::string fields :
       {"shared:1", "master:1", "shared:1 master:2", "master:7 propagate_from:2",
        "unbindable master:1", "something-new", "unbind", "unbindables", "-x"}) {
    EXPECT_TRUE(HasSharedMount(kOwn + "29 27 0:3 / /b rw " + fields + " - proc proc rw\n"))
        << fields;
    EXPECT_TRUE(HasSharedMount("29 27 0:3 / /b rw " + fields + " - proc proc rw\n" + kOwn))
        << fields;
  }
}

TEST(SharedMounts, AreSuspectedWhereALineIsCutOff) {
  for (const std::string line :
       {"\n", "29", "29 27 0:3 / /b rw\n", "29 27 0:3 / /b rw unbindable\n",
        "29 27 0:3 / /b rw - proc proc rw", "29 27 0:3 / /b", "29 27 0:3 / /b rw",
        "29 27 0:3 / /b rw "})
    EXPECT_TRUE(HasSharedMount(kOwn + line)) << line;
  EXPECT_TRUE(HasSharedMount(""));
}

}  // namespace
}  // namespace native_runner
