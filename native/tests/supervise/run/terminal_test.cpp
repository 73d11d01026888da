#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <utility>

#include "supervise/run/run_streams.h"

namespace native_runner {
namespace {

TEST(Terminal, IsResizedAndDuplicated) {
  Descriptor master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master.valid()) GTEST_SKIP() << "this host has no /dev/ptmx";
  const int number = master.get();
  const Terminal terminal(std::move(master));
  terminal.Resize({120, 50});
  winsize size{};
  ASSERT_EQ(ioctl(number, TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_col, 120);
  EXPECT_EQ(size.ws_row, 50);

  const Descriptor copy = terminal.Duplicate();
  ASSERT_TRUE(copy.valid());
  EXPECT_NE(copy.get(), number);
  EXPECT_NE(fcntl(copy.get(), F_GETFD) & FD_CLOEXEC, 0);
  terminal.Resize({1, 65535});
  ASSERT_EQ(ioctl(copy.get(), TIOCGWINSZ, &size), 0);
  EXPECT_EQ(size.ws_row, 65535);
}

}  // namespace
}  // namespace native_runner
