// Checkpoints of a transaction, and the way back to one.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/workspace/support/checkpointed.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::string>;

class CheckpointTest : public EachKindTest {};

INSTANTIATE_TEST_SUITE_P(, CheckpointTest, testing::Values(kOverlayNames, kCopyNames), KindOf);

std::string Text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string IdOf(const Result<CheckpointRecord>& made) {
  EXPECT_TRUE(made) << made.error().message;
  return made ? made.value().id : "";
}

TEST_P(CheckpointTest, IsWhatTheChangesWere) {
  const auto before = project.Seen();
  const std::string id = IdOf(project.Make("before"));
  EXPECT_EQ(project.Seen(), before) << "it changes nothing";
  project.ChangeMore();
  EXPECT_NE(project.Seen(), before) << "the control";
  ASSERT_FALSE(project.RollBack(id));
  EXPECT_EQ(project.Seen(), before);
  EXPECT_EQ(Text(project.at().Upper("a")), "mine a");
  EXPECT_TRUE(project.HasReplaced()) << "nobody waits for its removal";
  project.RemoveReplaced();
  project.ExpectTidy();
}

TEST_P(CheckpointTest, WhatARollbackReplacedGoesWithTheNextOne) {
  const auto before = project.Seen();
  const std::string id = IdOf(project.Make());
  for (int count = 0; count < 2; ++count) {
    project.ChangeMore();
    ASSERT_FALSE(project.RollBack(id));
    EXPECT_EQ(project.Seen(), before);
    EXPECT_TRUE(project.HasReplaced());
  }
  project.RemoveReplaced();
  project.ExpectTidy();
}

TEST_P(CheckpointTest, AreListedInTheirOrder) {
  EXPECT_EQ(project.Ids(), Ids());
  Ids made;
  for (const char* name : {"one", "", "three = \n"}) {
    auto record = project.Make(name);
    made.push_back(IdOf(record));
    EXPECT_EQ(record.value().name, name);
  }
  EXPECT_EQ(project.Ids(), made);
  const auto listed = ListCheckpoints(project.state());
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed.value()[2].name, "three = \n");
}

TEST_P(CheckpointTest, LaterOnesGoWithARollback) {
  Ids made;
  for (int count = 0; count < 3; ++count) {
    made.push_back(IdOf(project.Make()));
    project.ChangeMore();
  }
  ASSERT_FALSE(project.RollBack(made[1]));
  EXPECT_EQ(project.Ids(), Ids({made[0], made[1]}));
  ASSERT_FALSE(project.RollBack(made[1])) << "once more";
  const auto gone = project.RollBack(made[2]);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->code, ErrorCode::kInvalidValue);
  ASSERT_FALSE(project.RollBack(made[0]));
  EXPECT_EQ(project.Ids(), Ids({made[0]}));
}

TEST_P(CheckpointTest, OfAnotherCommitAreNoneAnyMore) {
  const std::string before = IdOf(project.Make());
  fs::create_directories(project.at().place().Path("state/commit"));
  project.at().place().Write("state/commit/done", "x");
  EXPECT_EQ(project.Ids(), Ids());
  EXPECT_TRUE(project.RollBack(before));
  const std::string after = IdOf(project.Make());
  EXPECT_EQ(project.Ids(), Ids({after}));
  EXPECT_FALSE(project.Has("checkpoints/" + before)) << "it is removed";
  fs::remove(project.at().place().Path("state/commit/done"));
  ASSERT_FALSE(TidyCheckpoints(project.state()));
  EXPECT_TRUE(fs::is_empty(project.at().place().Path("state/checkpoints")));
}

TEST_P(CheckpointTest, IsRefusedWhileSomethingGoesOnWriting) {
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop)
      std::ofstream(project.at().Upper("a"), std::ios::app) << "x";
  });
  // On a busy machine the writer may not run during a whole checkpoint.
  constexpr int kMostTries = 1000;
  std::optional<Error> refused;
  std::size_t whole = 0;
  while (!refused && whole < kMostTries) {
    const auto made = project.Make();
    if (made) ++whole;
    if (!made) refused = made.error();
  }
  stop = true;
  writer.join();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, ErrorCode::kSetup);
  EXPECT_NE(refused->message.find("goes on writing"), std::string::npos);
  EXPECT_EQ(project.Ids().size(), whole) << "nothing is left of what was refused";
  EXPECT_TRUE(project.Make()) << "the control";
}

TEST_P(CheckpointTest, ThatIsDamagedIsNone) {
  const std::string id = IdOf(project.Make());
  const std::string other = IdOf(project.Make());
  project.at().place().Write("state/checkpoints/" + id + "/record", "");
  EXPECT_EQ(project.Ids(), Ids({other}));
  EXPECT_TRUE(project.RollBack(id));
  project.ExpectTidy();
  ASSERT_FALSE(TidyCheckpoints(project.state()));
  EXPECT_FALSE(project.Has("checkpoints/" + id));
  EXPECT_FALSE(project.RollBack(other)) << "the control";
}

}  // namespace
}  // namespace native_runner
