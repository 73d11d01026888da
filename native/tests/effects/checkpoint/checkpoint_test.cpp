// Checkpoints of a transaction, and the way back to one.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/effects/support/checkpointed.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<std::string>;

std::string IdOf(const Result<CheckpointRecord>& made) {
  EXPECT_TRUE(made) << made.error().message;
  return made ? made.value().id : "";
}

TEST(CheckpointTest, IsWhatTheChangesWere) {
  const Checkpointed project;
  const std::string id = IdOf(project.Make("before"));
  project.ChangeMore();
  const std::string copy = project.at().place().Path("state/checkpoints/" + id + "/upper");
  const auto kept = ListingOf(copy);
  EXPECT_NE(project.Upper(), kept) << "the control";
  ASSERT_FALSE(RollBackTo(project.state(), id));
  EXPECT_EQ(project.Upper(), ListingOf(copy));
  EXPECT_EQ(project.at().place().Read("state/upper/a"), "mine a");
  EXPECT_EQ(project.Ledger(), project.KeptLedger());
  project.ExpectTidy();
}

TEST(CheckpointTest, AreListedInTheirOrder) {
  const Checkpointed project;
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

TEST(CheckpointTest, LaterOnesGoWithARollback) {
  const Checkpointed project;
  Ids made;
  for (int count = 0; count < 3; ++count) {
    made.push_back(IdOf(project.Make()));
    project.ChangeMore();
  }
  ASSERT_FALSE(RollBackTo(project.state(), made[1]));
  EXPECT_EQ(project.Ids(), Ids({made[0], made[1]}));
  ASSERT_FALSE(RollBackTo(project.state(), made[1])) << "once more";
  const auto gone = RollBackTo(project.state(), made[2]);
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->code, ErrorCode::kInvalidValue);
  ASSERT_FALSE(RollBackTo(project.state(), made[0]));
  EXPECT_EQ(project.Ids(), Ids({made[0]}));
}

TEST(CheckpointTest, OfAnotherCommitAreNoneAnyMore) {
  const Checkpointed project;
  const std::string before = IdOf(project.Make());
  fs::create_directories(project.at().place().Path("state/commit"));
  project.at().place().Write("state/commit/done", "x");
  EXPECT_EQ(project.Ids(), Ids());
  EXPECT_TRUE(RollBackTo(project.state(), before));
  const std::string after = IdOf(project.Make());
  EXPECT_EQ(project.Ids(), Ids({after}));
  EXPECT_FALSE(project.Has("checkpoints/" + before)) << "it is removed";
  fs::remove(project.at().place().Path("state/commit/done"));
  ASSERT_FALSE(TidyCheckpoints(project.state()));
  EXPECT_TRUE(fs::is_empty(project.at().place().Path("state/checkpoints")));
}

TEST(CheckpointTest, IsRefusedWhileSomethingGoesOnWriting) {
  const Checkpointed project;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop)
      std::ofstream(project.at().Upper("a"), std::ios::app) << "x";
  });
  // On a busy machine the writer may just not run for as long as one takes.
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

TEST(CheckpointTest, ThatIsDamagedIsNone) {
  const Checkpointed project;
  const std::string id = IdOf(project.Make());
  const std::string other = IdOf(project.Make());
  project.at().place().Write("state/checkpoints/" + id + "/record", "");
  EXPECT_EQ(project.Ids(), Ids({other}));
  EXPECT_TRUE(RollBackTo(project.state(), id));
  project.ExpectTidy();
  ASSERT_FALSE(TidyCheckpoints(project.state()));
  EXPECT_FALSE(project.Has("checkpoints/" + id));
  EXPECT_FALSE(RollBackTo(project.state(), other)) << "the control";
}

}  // namespace
}  // namespace native_runner
