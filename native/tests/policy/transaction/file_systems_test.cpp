#include "policy/transaction/file_systems.h"

#include <gtest/gtest.h>

namespace native_runner {
namespace {

constexpr std::uint64_t kOld = 0x801;
constexpr std::uint64_t kNew = 0x10302;

FileSystemList Of(std::uint64_t device, const FileSystemId& id, const char* role = "workspace") {
  return {{role, device, id}};
}

std::uint64_t After(const FileSystemList& then, const FileSystemList& now,
                    std::uint64_t device = kOld) {
  Renumbering(then, now).Apply(&device);
  return device;
}

TEST(FileSystemsTest, AreReadAsTheyWereWritten) {
  const FileSystemList list = {{"workspace", kOld, {1, 2, 0}}, {"a\nb", kNew, {0, 0, ~0ULL}}};
  const std::string text = WithFileSystems(list, std::string_view("re\0st", 5));
  std::string_view rest = text;
  const auto read = TakeFileSystems(&rest);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(rest, std::string_view("re\0st", 5));
  ASSERT_EQ(read.value().size(), 2U);
  for (std::size_t at = 0; at < list.size(); ++at) {
    EXPECT_EQ(read.value()[at].role, list[at].role);
    EXPECT_EQ(read.value()[at].device, list[at].device);
    EXPECT_EQ(read.value()[at].id, list[at].id);
  }
}

TEST(FileSystemsTest, OfAnEarlierVersionAreNone) {
  std::string_view text = "ledger 1";
  const auto read = TakeFileSystems(&text);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read.value().empty());
  EXPECT_EQ(text, "ledger 1");
}

TEST(FileSystemsTest, AreRefusedWithAnyBitFlipped) {
  const std::string whole = WithFileSystems(Of(kOld, {1, 2, 3}), "");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::string_view text = damaged;
    const auto read = TakeFileSystems(&text);
    // One whose first word is damaged is for the decoder of the rest, which takes no such text.
    EXPECT_TRUE(!read || (read.value().empty() && text == damaged)) << at;
  }
  std::string_view text = whole;
  EXPECT_TRUE(TakeFileSystems(&text));
}

TEST(FileSystemsTest, AreKnownByTheStrongestMarkThatBothHave) {
  EXPECT_EQ(After(Of(kOld, {7, 0, 0}), Of(kNew, {7, 0, 0})), kNew);
  EXPECT_EQ(After(Of(kOld, {7, 1, 0}), Of(kNew, {7, 2, 0})), kNew);
  EXPECT_EQ(After(Of(kOld, {0, 5, 0}), Of(kNew, {7, 5, 0})), kNew);
  EXPECT_EQ(After(Of(kOld, {0, 0, 9}), Of(kNew, {0, 0, 9})), kNew);
  EXPECT_EQ(After(Of(kOld, {7, 5, 9}), Of(kNew, {8, 5, 9})), 0U) << "another UUID";
  EXPECT_EQ(After(Of(kOld, {0, 5, 9}), Of(kNew, {0, 6, 9})), 0U);
}

TEST(FileSystemsTest, KeepTheirNumbersWhereNothingIsKnown) {
  EXPECT_EQ(After(Of(kOld, {}), Of(kNew, {7, 5, 9})), kOld);
  EXPECT_EQ(After(Of(kOld, {0, 0, 9}), Of(kNew, {0, 0, 8})), kOld) << "a handle proves no other";
  EXPECT_EQ(After(Of(kOld, {7, 0, 0}), Of(kNew, {7, 0, 0}, "state")), kOld) << "another role";
  EXPECT_EQ(After(Of(kOld, {7, 0, 0}), Of(kNew, {7, 0, 0}), 99), 99U) << "not of the list";
}

TEST(FileSystemsTest, MaySwapTheirNumbers) {
  const FileSystemList then = {{"workspace", kOld, {1, 0, 0}}, {"state", kNew, {2, 0, 0}}};
  const FileSystemList now = {{"workspace", kNew, {1, 0, 0}}, {"state", kOld, {2, 0, 0}}};
  EXPECT_EQ(After(then, now, kOld), kNew);
  EXPECT_EQ(After(then, now, kNew), kOld);
}

TEST(FileSystemsTest, OfWhichOneWasReplacedKeepTheOther) {
  const FileSystemList then = {{"workspace", kOld, {1, 0, 0}}, {"state", kOld, {1, 0, 0}}};
  const FileSystemList now = {{"workspace", kNew, {1, 0, 0}}, {"state", 5, {2, 0, 0}}};
  EXPECT_EQ(After(then, now), kNew);
}

}  // namespace
}  // namespace native_runner
