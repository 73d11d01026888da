// A checkpoint, and a rollback, for which the disk has no room.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "tests/workspace/support/checkpointed.h"
#include "tests/workspace/support/own_mounts.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

// Half of what there is room for, and a bit.
constexpr std::size_t kLarge = std::size_t{600} << 10U;
constexpr const char* kRoom = "size=1024k,mode=700";
constexpr int kNoMounts = 77;

class FullDiskTest : public testing::TestWithParam<CheckpointNames> {
 protected:
  void SetUp() override {
    for (const char* name : {"host", "state"})
      fs::create_directories(place_.Path(name));
  }

  // Runs the body in a process of its own, with a transaction on a file system of its own. The
  // process must exit with 0.
  void ExpectDone(const std::function<int()>& body) const {
    const pid_t child = fork();
    if (child == 0) {
      const std::string state = place_.Path("state");
      if (!HasOwnMounts() || mount("tmpfs", state.c_str(), "tmpfs", 0, kRoom) != 0) {
        _exit(kNoMounts);
      }
      fs::create_directories(Tree());
      place_.Write(std::string("state/") + GetParam().list, EncodeManifest(CopyManifest()));
      _exit(body());
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    if (WEXITSTATUS(status) == kNoMounts) GTEST_SKIP() << "nothing can be mounted here";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the step that went wrong";
  }

  std::string Tree() const { return place_.Path(std::string("state/") + GetParam().tree); }
  void Put(const std::string& name, std::size_t size) const {
    std::ofstream(Tree() + "/" + name) << std::string(size, 'x');
  }
  Descriptor State() const { return Overlay::Open(place_.Path("state")); }
  Result<CheckpointRecord> Make() const {
    CopyManifest manifest;
    const Ledger ledger;
    return MakeCheckpoint(State().get(), "", ledger, GetParam().is_copy ? &manifest : nullptr);
  }
  std::set<std::string> Files() const {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(place_.Path("state")))
      files.insert(entry.path());
    return files;
  }

 private:
  TempDirectory place_;
};

bool IsFull(const Error& error) {
  return error.code == ErrorCode::kSetup && error.message.find("No space") != std::string::npos;
}

TEST_P(FullDiskTest, HasACheckpointOrNothingOfIt) {
  ExpectDone([this] {
    Put("file", kLarge);
    if (Make()) return 1;
    const auto before = Files();  // with a directory for checkpoints
    const auto refused = Make();
    if (refused || !IsFull(refused.error())) return 2;
    if (Files() != before) return 3;
    Put("file", kLarge / 2);
    return Make() ? 0 : 4;
  });
}

TEST_P(FullDiskTest, IsRolledBackOrAsItWas) {
  ExpectDone([this] {
    Put("file", kLarge / 2);
    const auto made = Make();
    if (!made) return 1;
    Put("file", 1);
    Put("other", kLarge);
    const auto before = Files();
    const auto refused = RollBackTo(State().get(), GetParam(), made.value().id);
    if (!refused || !IsFull(*refused)) return 2;
    if (Files() != before || NeedsRollback(State().get())) return 3;
    Put("other", 1);
    if (RollBackTo(State().get(), GetParam(), made.value().id)) return 4;
    return fs::file_size(Tree() + "/file") == kLarge / 2 ? 0 : 5;
  });
}

INSTANTIATE_TEST_SUITE_P(, FullDiskTest, testing::Values(kOverlayNames, kCopyNames), KindOf);

}  // namespace
}  // namespace native_runner
