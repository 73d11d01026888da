#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/workspace/support/overlay.h"
#include "workspace/changes/same_file.h"
#include "workspace/changes/scan.h"
#include "workspace/tree/helper_thread.h"

namespace native_runner {
namespace {

constexpr off_t kFar = off_t{1} << 20U;

class SameBytesTest : public testing::Test {
 protected:
  // A file of this size; each text at its offset, and holes between.
  Descriptor File(const std::string& name, off_t size,
                  const std::vector<std::pair<off_t, std::string>>& texts) const {
    Descriptor file(open(place_.Path(name).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    for (const auto& [at, text] : texts)
      EXPECT_EQ(pwrite(file.get(), text.data(), text.size(), at),
                static_cast<ssize_t>(text.size()));
    EXPECT_EQ(ftruncate(file.get(), size), 0);
    return file;
  }

  TempDirectory place_;
};

TEST_F(SameBytesTest, AreThoseOfZerosAndHoles) {
  const Descriptor zeros = File("zeros", 3 * kFar, {{0, std::string(3 * kFar, '\0')}});
  const Descriptor hole = File("hole", 3 * kFar, {});
  EXPECT_TRUE(HaveSameBytes(zeros.get(), hole.get(), 3 * kFar));
  EXPECT_EQ(DigestOf(zeros.get()), DigestOf(hole.get()));
}

TEST_F(SameBytesTest, AreNotThoseOfAnyOtherByte) {
  const std::string text = "text";
  const Descriptor one = File("one", 3 * kFar, {{kFar, text}, {2 * kFar + 5, text}});
  EXPECT_TRUE(HaveSameBytes(one.get(), one.get(), 3 * kFar));
  const std::vector<std::vector<std::pair<off_t, std::string>>> others = {
      {{kFar, text}},
      {{2 * kFar + 5, text}},
      {{kFar, text}, {2 * kFar + 6, text}},
      {{2 * kFar, text}, {2 * kFar + 5, text}},
      {{0, "x"}, {kFar, text}, {2 * kFar + 5, text}},
      {{kFar, text}, {2 * kFar + 5, text}, {3 * kFar - 1, "x"}},
      {},
  };
  for (std::size_t at = 0; at < others.size(); ++at) {
    const Descriptor other = File("other", 3 * kFar, others[at]);
    EXPECT_FALSE(HaveSameBytes(one.get(), other.get(), 3 * kFar)) << at;
    EXPECT_FALSE(HaveSameBytes(other.get(), one.get(), 3 * kFar)) << at;
    EXPECT_NE(DigestOf(one.get()), DigestOf(other.get())) << at;
  }
  const Descriptor again = File("again", 3 * kFar, {{kFar, text}, {2 * kFar + 5, text}});
  EXPECT_TRUE(HaveSameBytes(one.get(), again.get(), 3 * kFar));
  EXPECT_EQ(DigestOf(one.get()), DigestOf(again.get()));
}

TEST_F(SameBytesTest, AreNotLookedForOnceStopped) {
  const Descriptor one = File("one", kFar, {{0, "text"}});
  const Descriptor other = File("other", kFar, {{0, "text"}});
  std::atomic<bool> is_stopped = false;
  const StopScope scope(&is_stopped);
  EXPECT_TRUE(HaveSameBytes(one.get(), other.get(), kFar));
  is_stopped = true;
  EXPECT_FALSE(HaveSameBytes(one.get(), other.get(), kFar));
  EXPECT_EQ(DigestOf(one.get()), std::nullopt);
  {
    const StopScope inner(nullptr);
    EXPECT_TRUE(HaveSameBytes(one.get(), other.get(), kFar)) << "another's work goes on";
  }
  EXPECT_TRUE(IsStopped());
}

// In all threads of a scan: there are enough directories for several.
TEST(StoppedScan, EndsWithAnError) {
  const Overlay overlay;
  for (int at = 0; at < 40; ++at)
    overlay.Change("dir" + std::to_string(at) + "/deep/file", "text");
  const auto scan = [&] { return ScanChanges(overlay.UpperTree(), overlay.HostTree(), Ledger()); };
  std::atomic<bool> is_stopped = false;
  const StopScope scope(&is_stopped);
  ASSERT_TRUE(scan());
  EXPECT_EQ(scan().value().size(), 120U);
  is_stopped = true;
  const auto stopped = scan();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kClosed);
}

}  // namespace
}  // namespace native_runner
