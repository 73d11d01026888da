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

TEST(JournalTest, OneFlippedBitIsFoundAnywhere) {
  const std::string text = EncodeJournal(SomeJournal());
  for (std::size_t at = 0; at < text.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit));
      EXPECT_FALSE(DecodeJournal(damaged)) << at << " " << bit;
    }
  EXPECT_TRUE(DecodeJournal(text));
}

// A journal of an earlier version of the package must still be completed or taken back.
TEST(JournalTest, ReadsTheFormatWithoutAChecksum) {
  std::string text = EncodeJournal(SomeJournal());
  text.replace(text.find("journal 2"), 9, "journal 1");
  text.erase(text.rfind('\0', text.size() - 2) + 1);
  const auto read = DecodeJournal(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(EncodeJournal(read.value()), EncodeJournal(SomeJournal()));
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
