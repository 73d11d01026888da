#include <gtest/gtest.h>

#include "policy/transaction/journal.h"

namespace native_runner {
namespace {

TransactionRecord ExampleRecord() {
  return {"0123456789ab", "/srv/a b\n=c\xff", {7, 42}, "overlay", 1'700'000'000'000'000'123U};
}

TEST(TransactionRecord, ComesBackAsItWas) {
  const TransactionRecord record = ExampleRecord();
  const auto decoded = DecodeRecord(EncodeRecord(record));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded.value().id, record.id);
  EXPECT_EQ(decoded.value().workspace, record.workspace);
  EXPECT_EQ(decoded.value().identity, record.identity);
  EXPECT_EQ(decoded.value().backend, record.backend);
  EXPECT_EQ(decoded.value().created_ns, record.created_ns);
}

TEST(TransactionRecord, OfAForkHasItsParent) {
  TransactionRecord record = ExampleRecord();
  EXPECT_EQ(EncodeRecord(record).find("parent"), std::string::npos);
  record.parent = "ba9876543210";
  const auto decoded = DecodeRecord(EncodeRecord(record));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded.value().parent, record.parent);
  record.parent = "../../etc";
  EXPECT_FALSE(DecodeRecord(EncodeRecord(record)));
}

TEST(TransactionRecord, CutOffAnywhereItIsNone) {
  const std::string text = EncodeRecord(ExampleRecord());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(DecodeRecord(std::string_view(text).substr(0, size))) << size;
  EXPECT_FALSE(DecodeRecord(text + "more"));
}

TEST(TransactionRecord, AnyLineOfAnotherNameIsRefused) {
  const std::string text = EncodeRecord(ExampleRecord());
  for (std::size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) {
    std::string other = text;
    other[at] = 'X';
    EXPECT_FALSE(DecodeRecord(other)) << at;
  }
}

TEST(TransactionRecord, ValuesOfTheWrongKindAreRefused) {
  const auto refused = [](void (*change)(TransactionRecord&)) {
    TransactionRecord record = ExampleRecord();
    change(record);
    return !DecodeRecord(EncodeRecord(record)).ok();
  };
  EXPECT_FALSE(refused([](TransactionRecord&) {})) << "the control";
  EXPECT_TRUE(refused([](TransactionRecord& record) { record.id = "../../etc"; }));
  EXPECT_TRUE(refused([](TransactionRecord& record) { record.workspace = "relative"; }));
  EXPECT_TRUE(refused([](TransactionRecord& record) { record.workspace = ""; }));
  EXPECT_TRUE(refused([](TransactionRecord& record) { record.backend = "other"; }));
}

TEST(TransactionRecord, AnIdIsTwelveHexadecimalDigits) {
  EXPECT_TRUE(IsTransactionId("0123456789ab"));
  for (const char* text :
       {"", "0123456789a", "0123456789abc", "0123456789aB", "0123456789a/", "-123456789ab", ".."})
    EXPECT_FALSE(IsTransactionId(text)) << text;
}

}  // namespace
}  // namespace native_runner
