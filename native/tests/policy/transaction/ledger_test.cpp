#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "policy/transaction/host_file.h"

namespace native_runner {
namespace {

HostFile File() {
  return {.mode = 0100644,
          .uid = 1,
          .gid = 2,
          .size = 3,
          .device = 4,
          .inode = 5,
          .modified_ns = 6,
          .changed_ns = 7,
          .born_ns = 8};
}

HostFile Directory() {
  HostFile directory = File();
  directory.mode = 0040755;
  return directory;
}

Ledger SomeLedger() {
  Ledger ledger;
  ledger.looked_ns = 77;
  ledger.baselines["."] = {1, false, Directory()};
  ledger.baselines["a\nb\xff"] = {2, true, File()};
  ledger.baselines["new"] = {3, false, std::nullopt};
  ledger.baselines["mapped"] = {4, false, File(), 5};
  return ledger;
}

TEST(LedgerTest, IsReadAsItWasWritten) {
  const Ledger ledger = SomeLedger();
  const auto read = DecodeLedger(EncodeLedger(ledger));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read.value().looked_ns, 77U);
  ASSERT_EQ(read.value().baselines.size(), 4U);
  for (const auto& [path, baseline] : ledger.baselines) {
    const Baseline& other = read.value().baselines.at(path);
    EXPECT_EQ(other.since_ns, baseline.since_ns);
    EXPECT_EQ(other.is_suspect, baseline.is_suspect);
    EXPECT_EQ(other.host, baseline.host);
    EXPECT_EQ(other.contents, baseline.contents);
  }
}

TEST(LedgerTest, OneThatIsCutIsNone) {
  const std::string text = EncodeLedger(SomeLedger());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(DecodeLedger(text.substr(0, size))) << size;
  EXPECT_FALSE(DecodeLedger("ledger 3" + text.substr(8)));
  EXPECT_FALSE(DecodeLedger(text + "x"));
  EXPECT_TRUE(DecodeLedger(text));
}

TEST(LedgerTest, OneFlippedBitIsFoundAnywhere) {
  const std::string text = EncodeLedger(SomeLedger());
  for (std::size_t at = 0; at < text.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit));
      EXPECT_FALSE(DecodeLedger(damaged)) << at << " " << bit;
    }
  EXPECT_TRUE(DecodeLedger(text));
}

// A transaction of an earlier version of the package is resumed with all its baselines.
TEST(LedgerTest, ReadsTheFormatWithoutAnEnd) {
  std::string text;
  PutField(&text, "ledger 1");
  PutNumber(&text, 77);
  PutField(&text, "a");
  PutNumber(&text, 3);  // suspect, and the host has it
  PutNumber(&text, 2);
  PutHostFile(&text, File());
  PutField(&text, "new");
  PutNumber(&text, 0);
  PutNumber(&text, 3);
  const auto read = DecodeLedger(text);
  ASSERT_TRUE(read) << read.error().message;
  Ledger expected;
  expected.looked_ns = 77;
  expected.baselines["a"] = {2, true, File()};
  expected.baselines["new"] = {3, false, std::nullopt};
  EXPECT_EQ(EncodeLedger(read.value()), EncodeLedger(expected));
  EXPECT_FALSE(DecodeLedger(text + "x"));
}

struct Difference {
  const char* what;
  std::function<void(HostFile&)> make;
  bool counts_for_directories;
};

const std::vector<Difference>& Differences() {
  static const std::vector<Difference> differences = {
      {"mode", [](HostFile& file) { file.mode ^= 1U; }, true},
      {"type", [](HostFile& file) { file.mode ^= 0140000U; }, true},
      {"owner", [](HostFile& file) { ++file.uid; }, true},
      {"group", [](HostFile& file) { ++file.gid; }, true},
      {"size", [](HostFile& file) { ++file.size; }, false},
      {"device", [](HostFile& file) { ++file.device; }, true},
      {"inode", [](HostFile& file) { ++file.inode; }, true},
      {"mtime", [](HostFile& file) { ++file.modified_ns; }, false},
      {"ctime, later", [](HostFile& file) { ++file.changed_ns; }, false},
      {"ctime, earlier: the clock was set back", [](HostFile& file) { --file.changed_ns; }, false},
      {"birth", [](HostFile& file) { ++file.born_ns; }, true},
  };
  return differences;
}

TEST(LedgerTest, WhateverDiffersIsAChangeOfTheHosts) {
  const Baseline file = {1, false, File()};
  const Baseline directory = {1, false, Directory()};
  EXPECT_FALSE(HostHasChanged(file, File(), false));
  EXPECT_FALSE(HostHasChanged(directory, Directory(), false));
  EXPECT_FALSE(HostHasChanged(directory, Directory(), true));
  for (const Difference& difference : Differences()) {
    HostFile now = File();
    difference.make(now);
    EXPECT_TRUE(HostHasChanged(file, now, false)) << difference.what;
    now = Directory();
    difference.make(now);
    EXPECT_EQ(HostHasChanged(directory, now, false), difference.counts_for_directories)
        << difference.what;
  }
}

TEST(LedgerTest, ADirectoryThatIsHiddenHasChangedWithItsNames) {
  const Baseline directory = {1, false, Directory()};
  HostFile now = Directory();
  ++now.changed_ns;
  EXPECT_FALSE(HostHasChanged(directory, now, false));
  EXPECT_TRUE(HostHasChanged(directory, now, true));
}

TEST(LedgerTest, WhatCameOrWentHasChanged) {
  const Baseline none = {1, false, std::nullopt};
  EXPECT_FALSE(HostHasChanged(none, std::nullopt, false));
  EXPECT_TRUE(HostHasChanged(none, File(), false));
  EXPECT_TRUE(HostHasChanged({1, false, File()}, std::nullopt, false));
}

TEST(LedgerTest, WhatIsSuspectStaysSo) {
  EXPECT_TRUE(HostHasChanged({1, true, File()}, File(), false));
  EXPECT_TRUE(HostHasChanged({1, true, std::nullopt}, std::nullopt, false));
}

}  // namespace
}  // namespace native_runner
