#include <gtest/gtest.h>

#include "policy/bubblewrap/bubblewrap_plan.h"

namespace native_runner {
namespace {

TEST(ParseBwrapHelp, FindsOptionsAtLineStarts) {
  const BwrapFeatures features = ParseBwrapHelp(
      "usage: bwrap [OPTIONS...] [--] COMMAND [ARGS...]\n\n"
      "    --help                       Print this help\n"
      "    --disable-userns             Disable further use of user namespaces\n"
      "    --bind-fd FD DEST            Bind open directory\n"
      "\t--as-pid-1\n"
      "    --perms OCTAL                Set permissions of next argument\n"
      "    --size BYTES                 Set size of next argument (only for --tmpfs)");
  EXPECT_TRUE(features.bind_fd);
  EXPECT_TRUE(features.disable_userns);
  EXPECT_TRUE(features.as_pid_1);
  EXPECT_TRUE(features.size);
  EXPECT_TRUE(features.perms);
}

TEST(ParseBwrapHelp, IgnoresWhatIsOnlyMentioned) {
  const BwrapFeatures features = ParseBwrapHelp(
      "    --ro-bind-fd FD DEST  like --bind-fd\n"
      "    --assert-userns-disabled  see --disable-userns\n"
      "    --as-pid-1-not\n"
      "    --sized\n"
      "    -size\n");
  EXPECT_FALSE(features.bind_fd);
  EXPECT_FALSE(features.disable_userns);
  EXPECT_FALSE(features.as_pid_1);
  EXPECT_FALSE(features.size);
  EXPECT_FALSE(features.perms);
}

TEST(ParseBwrapHelp, TakesAnyText) {
  for (const char* text : {"", "\n", "\n\n", "   ", "--bind-fd-", "bwrap: unknown option --help"}) {
    EXPECT_FALSE(ParseBwrapHelp(text).bind_fd) << text;
  }
  EXPECT_TRUE(ParseBwrapHelp("--bind-fd").bind_fd);
  EXPECT_TRUE(ParseBwrapHelp("--bind-fd\r\n").bind_fd);
}

}  // namespace
}  // namespace native_runner
