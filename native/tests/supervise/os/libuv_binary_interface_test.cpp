// The supervisor is compiled against Node's libuv and linked here with the system's, as an addon
// that was built with one Node is loaded into another: what we allocate must be what the library
// fills in.
#include <gtest/gtest.h>
#include <uv.h>

namespace native_runner {
namespace {

TEST(Libuv, IsOfTheVersionWhoseBinaryInterfaceStays) {
  EXPECT_EQ(uv_version() >> 16, static_cast<unsigned>(UV_VERSION_MAJOR));
}

TEST(Libuv, HasALoopOfTheSizeThatWeWereCompiledWith) {
  EXPECT_EQ(uv_loop_size(), sizeof(uv_loop_t));
}

TEST(Libuv, HasHandlesOfTheSizesThatWeWereCompiledWith) {
  EXPECT_EQ(uv_handle_size(UV_ASYNC), sizeof(uv_async_t));
  EXPECT_EQ(uv_handle_size(UV_POLL), sizeof(uv_poll_t));
  EXPECT_EQ(uv_handle_size(UV_TIMER), sizeof(uv_timer_t));
}

}  // namespace
}  // namespace native_runner
