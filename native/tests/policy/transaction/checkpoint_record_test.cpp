#include <gtest/gtest.h>

#include "policy/transaction/journal.h"

namespace native_runner {
namespace {

CheckpointRecord Example() {
  CheckpointRecord record;
  record.id = "0123456789ab";
  record.name = "before = the\nmigration";
  record.order = 7;
  record.created_ns = 1'700'000'000'123'456'789;
  record.commit = "12:34.5";
  return record;
}

TEST(CheckpointRecordTest, IsDecodedAsItWasEncoded) {
  for (const char* name : {"", "x", "before = the\nmigration"}) {
    CheckpointRecord record = Example();
    record.name = name;
    const auto decoded = DecodeCheckpoint(EncodeCheckpoint(record));
    ASSERT_TRUE(decoded) << name;
    EXPECT_EQ(decoded.value().id, record.id);
    EXPECT_EQ(decoded.value().name, record.name);
    EXPECT_EQ(decoded.value().order, record.order);
    EXPECT_EQ(decoded.value().created_ns, record.created_ns);
    EXPECT_EQ(decoded.value().commit, record.commit);
  }
}

TEST(CheckpointRecordTest, NothingElseIsTaken) {
  const std::string whole = EncodeCheckpoint(Example());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(DecodeCheckpoint(whole.substr(0, size))) << size;
  EXPECT_FALSE(DecodeCheckpoint(whole + "x"));
  CheckpointRecord record = Example();
  record.id = "../../../etc";
  EXPECT_FALSE(DecodeCheckpoint(EncodeCheckpoint(record)));
}

}  // namespace
}  // namespace native_runner
