// A checkpoint of a copy keeps files of all types, and what is known of them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "tests/workspace/support/checkpointed.h"
#include "workspace/copy/tree_copier.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

// An unchanged copy with files of all types, of a workspace that the host has changed since.
class SecondCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"file", "shut", "hidden/file", "hidden/deep/file", "one"})
      at_.Put(name, "host");
    fs::create_hard_link(at_.Host("one"), at_.Host("hidden/two"));
    fs::create_symlink("file", at_.Host("link"));
    ASSERT_EQ(mkfifo(at_.Host("fifo").c_str(), 0620), 0);
    ASSERT_EQ(mknod(at_.Host("socket").c_str(), S_IFSOCK | 0600, 0), 0);
    at_.Put("holes", "");
    fs::resize_file(at_.Host("holes"), 8 << 20);
    setxattr(at_.Host("file").c_str(), "user.mine", "a", 1, 0);
    const Descriptor to = Overlay::Open(at_.Upper());
    CopyProgress progress;
    auto copied = CopyTree(at_.HostTree(), to.get(), 1U << 30U, &progress);
    ASSERT_TRUE(copied) << copied.error().message;
    ledger_ = std::move(copied->ledger);
    manifest_ = std::move(copied->manifest);
    // Copies of another user's files may be like this: their owner may not read them here.
    Shut("shut");
    Shut("hidden/deep");
    Shut("hidden");
    WaitForTick();
    for (const char* name : {"file", "shut", "hidden/file", "one", "holes"})
      at_.Put(name, "HOST");
    fs::remove(at_.Host("link"));
    state_ = Overlay::Open(at_.place().Path("state"));
    Keep();
  }
  void TearDown() override {
    for (const char* name : {"hidden", "hidden/deep"})
      chmod(at_.Upper(name).c_str(), 0700);
    std::error_code ignored;
    for (const auto& entry : fs::recursive_directory_iterator(at_.place().path(), ignored))
      if (entry.is_directory() && !entry.is_symlink()) chmod(entry.path().c_str(), 0700);
  }

  void Shut(const char* name) {
    ASSERT_EQ(chmod(at_.Upper(name).c_str(), 0), 0);
    const Descriptor file(open(at_.Upper(name).c_str(), O_PATH | O_CLOEXEC));
    const auto node = NodeOf(file.get());
    ASSERT_TRUE(node);
    manifest_.copies[name] = node.value();
  }
  void Keep() const { at_.place().Write("state/copies", EncodeManifest(manifest_)); }
  void Load() {
    auto manifest = DecodeManifest(at_.place().Read("state/copies"));
    ASSERT_TRUE(manifest);
    manifest_ = std::move(*manifest);
  }
  std::string Reported() const {
    const auto changes = ScanCopy(at_.UpperTree(), at_.HostTree(), manifest_, ledger_);
    EXPECT_TRUE(changes);
    std::string told;
    if (!changes) return told;
    for (const Change& change : changes.value())
      told += change.path + " ";
    return told;
  }
  std::string Make() {
    const auto made = MakeCheckpoint(state_.get(), "", ledger_, &manifest_);
    EXPECT_TRUE(made) << made.error().message;
    return made ? made.value().id : "";
  }
  std::optional<Error> RollBack(const std::string& id) {
    auto error = RollBackTo(state_.get(), kCopyNames, id);
    if (!error) Load();
    return error;
  }
  void ChangeAll() const {
    for (const char* name : {"hidden", "hidden/deep"})
      ASSERT_EQ(chmod(at_.Upper(name).c_str(), 0700), 0);
    ASSERT_EQ(chmod(at_.Upper("shut").c_str(), 0600), 0);
    for (const char* name : {"file", "shut", "hidden/deep/file", "one"})
      at_.Change(name, "mine");
    for (const char* name : {"hidden/two", "link", "fifo", "socket", "holes"})
      fs::remove(at_.Upper(name));
  }

  Overlay at_{false, "tree"};
  Ledger ledger_;
  CopyManifest manifest_;
  Descriptor state_;
};

TEST_F(SecondCopyTest, TellsOfNothingThatWasNotChanged) {
  EXPECT_EQ(Reported(), "") << "a control";
  const std::string first = Make();
  EXPECT_EQ(Reported(), "") << "looking at a file is no change of it";
  Load();
  EXPECT_EQ(Reported(), "") << "nor when it is taken up by what is on disk";
  for (const char* times : {"once", "twice", "three times"}) {
    ChangeAll();
    EXPECT_NE(Reported(), "") << "a control";
    ASSERT_FALSE(RollBack(first)) << times;
    EXPECT_EQ(Reported(), "") << times;
    EXPECT_EQ(fs::status(at_.Upper("shut")).permissions(), fs::perms::none);
    EXPECT_EQ(fs::hard_link_count(at_.Upper("one")), 2U);
    EXPECT_TRUE(fs::is_fifo(at_.Upper("fifo")));
    EXPECT_TRUE(fs::is_socket(at_.Upper("socket")));
    EXPECT_EQ(fs::file_size(at_.Upper("holes")), 8U << 20U);
  }
  const std::string second = Make();
  ChangeAll();
  ASSERT_FALSE(RollBack(second));
  EXPECT_EQ(Reported(), "") << "a checkpoint of what a checkpoint has brought back";
}

TEST_F(SecondCopyTest, TellsOfWhatWasChangedAlsoWhereItLooksAsBefore) {
  const std::string text = at_.place().Read("state/tree/file");
  struct stat before {};
  ASSERT_EQ(stat(at_.Upper("file").c_str(), &before), 0);
  at_.Change("file", "mine");
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, at_.Upper("file").c_str(), times, 0), 0);
  ASSERT_EQ(chmod(at_.Upper("shut").c_str(), 0600), 0);
  at_.Change("shut", "mine");
  ASSERT_EQ(chmod(at_.Upper("shut").c_str(), 0), 0);
  EXPECT_EQ(Reported(), "file shut ");
  const std::string first = Make();
  EXPECT_EQ(Reported(), "file shut ");
  at_.Change("file", text);
  ASSERT_FALSE(RollBack(first));
  EXPECT_EQ(Reported(), "file shut ");
  ASSERT_FALSE(RollBack(first));
  EXPECT_EQ(Reported(), "file shut ") << "once more";
}

TEST_F(SecondCopyTest, OfADamagedListIsNotRolledBackTo) {
  const std::string id = Make();
  const std::string list = "state/checkpoints/" + id + "/copies";
  const std::string text = at_.place().Read(list);
  ChangeAll();
  const std::string told = Reported();
  for (const std::string& damaged : {std::string(), text.substr(0, text.size() - 4)}) {
    at_.place().Write(list, damaged);
    const auto refused = RollBack(id);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->code, ErrorCode::kSetup);
    EXPECT_EQ(Reported(), told);
    EXPECT_FALSE(fs::exists(at_.place().Path("state/next-tree")));
  }
  at_.place().Write(list, text);
  ASSERT_FALSE(RollBack(id)) << "the control";
  EXPECT_EQ(Reported(), "");
}

}  // namespace
}  // namespace native_runner
