#include "policy/transaction/journal.h"

#include <gtest/gtest.h>

namespace native_runner {
namespace {

HostFile File(std::uint64_t inode) {
  return {.mode = 0100644, .size = 3, .device = 4, .inode = inode, .modified_ns = 6};
}

Journal SomeJournal() {
  Journal journal;
  journal.kind = Journal::Kind::kUndo;
  journal.operations = {
      {Operation::Kind::kMove, {Site::kUpper, "a\nb\xff"}, {Site::kBackup, "0"}, File(1), {}},
      {Operation::Kind::kExchange, {Site::kBackup, "0"}, {Site::kHost, "a"}, File(1), File(2)},
      {Operation::Kind::kAttributes, {Site::kHost, ""}, {}, File(3), File(4)},
  };
  return journal;
}

TEST(JournalTest, IsReadAsItWasWritten) {
  const Journal journal = SomeJournal();
  const std::string text = EncodeJournal(journal);
  const auto read = DecodeJournal(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(EncodeJournal(read.value()), text);
  EXPECT_EQ(read.value().kind, Journal::Kind::kUndo);
  ASSERT_EQ(read.value().operations.size(), 3U);
  EXPECT_EQ(read.value().operations[1].to.path, "a");
  EXPECT_EQ(read.value().operations[1].to_file, File(2));
}

TEST(JournalTest, APartOfOneIsNone) {
  const std::string text = EncodeJournal(SomeJournal());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(DecodeJournal(text.substr(0, size))) << size;
  EXPECT_FALSE(DecodeJournal(text + "x"));
  EXPECT_TRUE(DecodeJournal(text));
}

TEST(JournalTest, AnInverseOfAnInverseIsTheSame) {
  for (const Operation& operation : SomeJournal().operations) {
    const Operation inverse = InverseOf(operation);
    const Operation twice = InverseOf(inverse);
    EXPECT_EQ(twice.from, operation.from);
    EXPECT_EQ(twice.to, operation.to);
    EXPECT_EQ(twice.from_file, operation.from_file);
    EXPECT_EQ(twice.to_file, operation.to_file);
  }
}

}  // namespace
}  // namespace native_runner
