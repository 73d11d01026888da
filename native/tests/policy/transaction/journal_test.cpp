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
      {Operation::Kind::kExchange, {Site::kBackup, "0"}, {Site::kHost, "a"}, File(1), File(2), 77},
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
  EXPECT_EQ(read.value().operations[1].contents, 77U);
  EXPECT_EQ(read.value().operations[0].contents, std::nullopt);
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

// What EncodeJournal of an earlier version wrote, up to its end. Leaves out contents.
std::string EarlierJournal(std::string_view version, Journal* journal) {
  std::string text;
  PutField(&text, version);
  PutNumber(&text, static_cast<std::uint64_t>(journal->kind));
  PutNumber(&text, journal->operations.size());
  for (Operation& operation : journal->operations) {
    operation.contents.reset();
    PutNumber(&text, static_cast<std::uint64_t>(operation.kind));
    for (const SitePath* place : {&operation.from, &operation.to}) {
      PutNumber(&text, static_cast<std::uint64_t>(place->site));
      PutField(&text, place->path);
    }
    PutHostFile(&text, operation.from_file);
    PutHostFile(&text, operation.to_file);
  }
  PutField(&text, "end");
  return text;
}

// A journal of an earlier version of the package must still be completed or taken back.
TEST(JournalTest, ReadsTheFormatWithoutContentsAndChecksum) {
  Journal journal = SomeJournal();
  const auto read = DecodeJournal(EarlierJournal("journal 1", &journal));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(EncodeJournal(read.value()), EncodeJournal(journal));
}

TEST(JournalTest, ReadsTheFormatWithoutContents) {
  Journal journal = SomeJournal();
  const std::string text = EarlierJournal("journal 2", &journal);
  EXPECT_FALSE(DecodeJournal(text)) << "it has a checksum";
  // FNV-1a.
  std::uint64_t checksum = 0xcbf29ce484222325;
  for (const char byte : text)
    checksum = (checksum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  std::string whole = text;
  PutNumber(&whole, checksum);
  const auto read = DecodeJournal(whole);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(EncodeJournal(read.value()), EncodeJournal(journal));
  std::string damaged = text;
  PutNumber(&damaged, checksum + 1);
  EXPECT_FALSE(DecodeJournal(damaged));
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
