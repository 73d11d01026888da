#include <gtest/gtest.h>

#include "policy/transaction/host_file.h"
#include "policy/transaction/journal.h"

namespace native_runner {
namespace {

HostFile File(std::uint32_t mode, std::uint32_t uid, std::uint32_t gid) {
  HostFile file;
  file.mode = mode;
  file.uid = uid;
  file.gid = gid;
  file.size = 7;
  return file;
}

TEST(CopyManifestTest, IsReadAsItWasWritten) {
  CopyManifest manifest;
  manifest.copies["."] = File(0040755, 1, 2);
  manifest.copies["a\nb\xff"] = File(0100644, 3, 4);
  const std::string text = EncodeManifest(manifest);
  const auto read = DecodeManifest(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().copies, manifest.copies);
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(DecodeManifest(text.substr(0, size))) << size;
  EXPECT_FALSE(DecodeManifest(text + "x"));
  for (std::size_t at = 0; at < text.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit));
      EXPECT_FALSE(DecodeManifest(damaged)) << at << " " << bit;
    }
}

// A copy of an earlier version of the package can be resumed.
TEST(CopyManifestTest, ReadsTheFormatWithoutAChecksum) {
  CopyManifest manifest;
  manifest.copies["."] = File(0040755, 1, 2);
  std::string text;
  PutField(&text, "copies 1");
  PutNumber(&text, 1);
  PutField(&text, ".");
  PutHostFile(&text, manifest.copies["."]);
  PutField(&text, "end");
  const auto read = DecodeManifest(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().copies, manifest.copies);
  EXPECT_FALSE(DecodeManifest(text + "x"));
}

TEST(CopyManifestTest, GivesAFileTheHostsOwnerUnlessSomebodyGaveItAnother) {
  const HostFile host = File(0104755, 0, 0);
  const HostFile copy = File(0100755, 1000, 1000);
  const HostFile untouched = AsOnHost(copy, &copy, &host);
  EXPECT_TRUE(untouched.HasSameAttributes(host));
  HostFile changed = copy;
  changed.mode = 0100700;
  changed.gid = 5;
  const HostFile mapped = AsOnHost(changed, &copy, &host);
  EXPECT_EQ(mapped.mode, 0100700U);
  EXPECT_EQ(mapped.uid, 0U);
  EXPECT_EQ(mapped.gid, 5U);
  EXPECT_EQ(AsOnHost(changed, nullptr, &host), changed) << "one that is new is its own";
}

TEST(BackupPlaceTest, IsReadAsItWasWritten) {
  const BackupPlace place = {"/a b/" + BackupName("0123456789abcdef"), {5, 6}};
  const std::string text = EncodeBackupPlace(place);
  const auto read = DecodeBackupPlace(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read.value().path, place.path);
  EXPECT_EQ(read.value().identity, place.identity);
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(DecodeBackupPlace(text.substr(0, size))) << size;
}

TEST(BackupPlaceTest, IsKnownByItsNameAtTheTop) {
  const std::string name = BackupName("0123456789abcdef");
  EXPECT_TRUE(IsBackupPath(name));
  EXPECT_TRUE(IsBackupPath(name + "/0"));
  EXPECT_FALSE(IsBackupPath("dir/" + name));
  EXPECT_FALSE(IsBackupPath(name + "0"));
  EXPECT_FALSE(IsBackupPath(BackupName("0123456789abcdeX")));
  EXPECT_FALSE(IsBackupPath(BackupName("")));
}

}  // namespace
}  // namespace native_runner
