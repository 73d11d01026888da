// A transaction that is a copy, taken back to a checkpoint, committed or merged: also by who takes
// it up after a death.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/workspace/support/changed_project.h"
#include "tests/workspace/support/stepping.h"
#include "workspace/transaction/transaction.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

class CopyRollbackTest : public testing::Test {
 protected:
  struct Project {
    Project() {
      for (const char* name : {"a", "b", "dir/x", "same"})
        at.Put(name, std::string("host ") + name);
    }

    Transaction::Options Options() const {
      Transaction::Options options;
      options.launcher = "/nowhere";  // a copy is mounted by nobody
      options.workspace = at.Host();
      options.directory = at.place().Path("transactions");
      options.backend = Transaction::Backend::kCopy;
      options.most_bytes = 1U << 30U;
      options.progress = std::make_shared<CopyProgress>();
      return options;
    }
    std::shared_ptr<Transaction> Open() const { return Taken(Transaction::Open(Options())); }
    std::shared_ptr<Transaction> Resume(const std::string& id) const {
      return Taken(Transaction::Resume(Options(), id));
    }
    static std::shared_ptr<Transaction> Taken(Result<std::shared_ptr<Transaction>> opened) {
      EXPECT_TRUE(opened) << opened.error().message;
      return opened ? std::move(*opened) : nullptr;
    }
    // Writes through the descriptor that commands would enter.
    static void Change(const Transaction& transaction, const std::string& name,
                       const std::string& text) {
      const auto kept = transaction.workspace()->Enter();
      ASSERT_TRUE(kept);
      const std::string path = DescriptorPath(kept->root.get()) + "/" + name;
      fs::create_directories(fs::path(path).parent_path());
      std::ofstream(path) << text;
    }
    static void Remove(const Transaction& transaction, const std::string& name) {
      const auto kept = transaction.workspace()->Enter();
      ASSERT_TRUE(kept);
      ASSERT_TRUE(fs::remove(DescriptorPath(kept->root.get()) + "/" + name));
    }

    Overlay at;
  };

  static std::string Reported(Transaction* transaction) {
    const auto changes = transaction->Changes(PathFilter());
    if (!changes) return "? " + changes.error().message;
    std::string told;
    for (const struct Change& change : changes.value())
      told += change.path + (change.conflict ? "! " : " ");
    return told;
  }

  // The ids of a transaction that has changed `a` and what `change` does, and of its fork.
  static std::pair<std::string, std::string> Fork(const Project& project,
                                                  const std::function<void(Transaction&)>& change) {
    const auto transaction = project.Open();
    if (!transaction) return {};
    Project::Change(*transaction, "a", "mine");
    change(*transaction);
    const auto fork = transaction->Fork();
    EXPECT_TRUE(fork);
    transaction->Close();
    return {transaction->id(), fork ? fork.value() : ""};
  }

  static std::string Planned(Transaction& one, Transaction& other) {
    const auto plan = one.PlanMerge(other, {}, false);
    if (!plan) return "? " + plan.error().message;
    std::string told;
    for (const MergeStep& step : plan.value()) {
      const bool takes = step.verdict == MergeStep::Verdict::kTheirs;
      told += step.path + (takes ? " takes " : std::string(" ") + step.reason + " ");
    }
    return told;
  }

  // A transaction with a checkpoint and later changes.
  struct Prepared {
    std::string id;
    std::string checkpoint;
    std::string before;
    std::string after;
  };
  static Prepared Prepare(const Project& project) {
    Prepared made;
    const auto transaction = project.Open();
    if (!transaction) return made;
    made.id = transaction->id();
    Project::Change(*transaction, "a", "mine");
    Project::Change(*transaction, "dir/new", "mine");
    // The host alone changes it, which is not reported as long as the copy's file is known to be
    // unchanged.
    project.at.Put("same", "of the host since");
    made.before = Reported(transaction.get());
    EXPECT_EQ(made.before, "a dir/new ");
    const auto checkpoint = transaction->Checkpoint("");
    EXPECT_TRUE(checkpoint);
    if (checkpoint) made.checkpoint = checkpoint.value().id;
    Project::Change(*transaction, "b", "later");
    Project::Change(*transaction, "same", "later");
    made.after = Reported(transaction.get());
    EXPECT_EQ(made.after, "a b dir/new same! ");
    transaction->Close();
    return made;
  }
  // Expects the state of before or after the rollback, and a transaction that still works.
  static void ExpectWhole(const Project& project, const Prepared& prepared, bool* is_done) {
    const auto transaction = project.Resume(prepared.id);
    ASSERT_TRUE(transaction);
    const std::string told = Reported(transaction.get());
    *is_done = told == prepared.before;
    ASSERT_TRUE(*is_done || told == prepared.after) << told;
    ASSERT_FALSE(transaction->RollBack(prepared.checkpoint));
    ASSERT_EQ(Reported(transaction.get()), prepared.before);
    ASSERT_TRUE(transaction->Commit(CommitRequest()));
    ASSERT_EQ(project.at.host_place().Read("host/a"), "mine");
    ASSERT_EQ(project.at.host_place().Read("host/b"), "host b");
    ASSERT_EQ(Reported(transaction.get()), "");
    ASSERT_FALSE(transaction->Discard());
  }
};

TEST_F(CopyRollbackTest, IsWhatACommitBringsAndAnUndoTakesBack) {
  const Project project;
  const Prepared prepared = Prepare(project);
  const auto transaction = project.Resume(prepared.id);
  ASSERT_TRUE(transaction);
  EXPECT_EQ(transaction->recovered(), Recovered::kNothing);
  ASSERT_EQ(Reported(transaction.get()), prepared.after);
  ASSERT_FALSE(transaction->RollBack(prepared.checkpoint));
  ASSERT_EQ(Reported(transaction.get()), prepared.before);
  Project::Change(*transaction, "made", "at once");
  ASSERT_EQ(Reported(transaction.get()), "a dir/new made ");
  const TreeText before = TextOfTree(project.at.Host());
  const auto committed = transaction->Commit(CommitRequest());
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(committed.value().committed.size(), 3U);
  TreeText expected = before;
  expected["a"] = "100644 mine";
  expected["dir/new"] = "100644 mine";
  expected["made"] = "100644 at once";
  EXPECT_EQ(TextOfTree(project.at.Host()), expected);
  const auto undone = transaction->Undo();
  ASSERT_TRUE(undone);
  EXPECT_TRUE(undone.value().empty());
  EXPECT_EQ(TextOfTree(project.at.Host()), before);
  EXPECT_EQ(Reported(transaction.get()), "a dir/new made ");
  EXPECT_TRUE(transaction->RollBack(prepared.checkpoint)) << "a commit has ended it";
}

TEST_F(CopyRollbackTest, ToldTheHostsChangesOfBeforeAndSince) {
  const Project project;
  const Prepared prepared = Prepare(project);
  const auto transaction = project.Resume(prepared.id);
  ASSERT_TRUE(transaction);
  project.at.Put("a", "of the host too");
  project.at.Put("dir/x", "of the host alone");
  ASSERT_FALSE(transaction->RollBack(prepared.checkpoint));
  EXPECT_EQ(Reported(transaction.get()), "a! dir/new ");
  const auto committed = transaction->Commit(CommitRequest());
  ASSERT_TRUE(committed);
  EXPECT_FALSE(committed.value().is_done);
}

// The host's file has been moved away and back by the commit itself: that is no change of the
// host's, and not after a rollback either.
TEST_F(CopyRollbackTest, AfterACommitThatWasTakenBackHasNoConflicts) {
  int taken_back = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(3)) {
    const Project project;
    const Prepared prepared = Prepare(project);
    struct stat before {};
    struct stat after {};
    ASSERT_EQ(stat(project.at.Host("a").c_str(), &before), 0);
    const Stepped stepped = RunFailing(
        [&] {
          auto opened = Transaction::Resume(project.Options(), prepared.id);
          CommitRequest request;
          request.paths = std::move(PathFilter::Of({"a"}).value());
          if (opened) _exit((*opened)->Commit(request) ? 1 : 0);
        },
        {EIO, step, false, ChangesFiles});
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    if (WEXITSTATUS(stepped.status) == 1) continue;
    ASSERT_EQ(stat(project.at.Host("a").c_str(), &after), 0);
    const bool was_moved =
        after.st_ino == before.st_ino && (after.st_ctim.tv_sec != before.st_ctim.tv_sec ||
                                          after.st_ctim.tv_nsec != before.st_ctim.tv_nsec);
    taken_back += was_moved ? 1 : 0;
    bool is_done = false;
    ExpectWhole(project, prepared, &is_done);
    if (HasFailure()) FAIL() << step;
  }
  if (StepsApart(1) == 1) {
    EXPECT_GT(taken_back, 0);
  }
}

TEST_F(CopyRollbackTest, IsDoneOrNotBegunAfterADeath) {
  int done = 0;
  int not_begun = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(7)) {
    const Project project;
    const Prepared prepared = Prepare(project);
    const Stepped stepped = RunToStep(
        [&] {
          auto opened = Transaction::Resume(project.Options(), prepared.id);
          if (!opened || (*opened)->RollBack(prepared.checkpoint)) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    bool is_done = false;
    ExpectWhole(project, prepared, &is_done);
    if (HasFailure()) FAIL() << step;
    (is_done ? done : not_begun) += 1;
  }
  EXPECT_GE(done, 10 / StepsApart(7));
  EXPECT_GT(not_begun, 30 / StepsApart(7));
}

// A copy has had from the host what it has committed: its later removal is a change, also where the
// process died with the commit.
TEST_F(CopyRollbackTest, TellsOfWhatIsRemovedAfterADeathInACommit) {
  int committed = 0;
  int not_begun = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const Project project;
    const Prepared prepared = Prepare(project);
    CommitRequest request;
    request.paths = std::move(PathFilter::Of({"dir/new"}).value());
    const Stepped stepped = RunToStep(
        [&] {
          auto opened = Transaction::Resume(project.Options(), prepared.id);
          if (!opened || !(*opened)->Commit(request)) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const auto transaction = project.Resume(prepared.id);
    ASSERT_TRUE(transaction) << step;
    const bool was_committed = fs::exists(project.at.Host("dir/new"));
    ASSERT_EQ(Reported(transaction.get()), was_committed ? "a b same! " : prepared.after) << step;
    Project::Remove(*transaction, "dir/new");
    ASSERT_EQ(Reported(transaction.get()), was_committed ? "a b dir/new same! " : "a b same! ")
        << step;
    (was_committed ? committed : not_begun) += 1;
    if (was_committed) {
      ASSERT_TRUE(transaction->Commit(request)) << step;
      ASSERT_FALSE(fs::exists(project.at.Host("dir/new"))) << step;
    }
    ASSERT_FALSE(transaction->Discard()) << step;
  }
  EXPECT_GE(committed, 10 / StepsApart(1));
  EXPECT_GT(not_begun, 10 / StepsApart(1));
}

// The other one's later removal of what was merged is a change.
TEST_F(CopyRollbackTest, KnowsAfterADeathInAMergeWhatWasMerged) {
  int merged = 0;
  int not_begun = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(3)) {
    const Project project;
    const auto [id, fork] = Fork(project, [](Transaction&) {});
    {
      const auto other = project.Resume(fork);
      ASSERT_TRUE(other) << step;
      Project::Change(*other, "dir/new", "theirs");
      other->Close();
    }
    const Stepped stepped = RunToStep(
        [&, &id = id, &fork = fork] {
          auto one = Transaction::Resume(project.Options(), id);
          auto other = Transaction::Resume(project.Options(), fork);
          if (!one || !other || !(*one)->PlanMerge(**other, {}, false)) _exit(1);
          MergeRequest request;
          request.theirs.push_back({"dir/new", 0});
          if ((*one)->Merge(**other, request)) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const auto one = project.Resume(id);
    const auto other = project.Resume(fork);
    ASSERT_TRUE(one && other) << step;
    const bool was_merged = Reported(one.get()) == "a dir/new ";
    (was_merged ? merged : not_begun) += 1;
    Project::Remove(*other, "dir/new");
    ASSERT_EQ(Planned(*one, *other), was_merged ? "dir/new takes " : "") << step;
  }
  EXPECT_GE(merged, 5 / StepsApart(3));
  EXPECT_GT(not_begun, 10 / StepsApart(3));
}

// A conflict would say that nothing has changed.
TEST_F(CopyRollbackTest, TellsOfATornCommitAndOfNoConflict) {
  CommitRequest request;
  request.paths = std::move(PathFilter::Of({"dir/new"}).value());
  constexpr int kTorn = 2;
  int torn = 0;
  int others = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(1)) {
    const Project project;
    const Prepared prepared = Prepare(project);
    const auto commit = [&] {
      auto opened = Transaction::Resume(project.Options(), prepared.id);
      if (!opened) _exit(1);
      const auto committed = (*opened)->Commit(request);
      const bool is_told =
          !committed && committed.error().message.find("taken back whole") != std::string::npos;
      _exit(is_told ? kTorn : 0);
    };
    const Stepped stepped = RunToStep(
        commit, step, [&](pid_t) { fs::rename(project.at.Host("dir"), project.at.Host("moved")); });
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    const bool is_torn = project.at.place().Has("transactions/" + prepared.id + "/commit/torn");
    ASSERT_EQ(WEXITSTATUS(stepped.status) == kTorn, is_torn) << step;
    (is_torn ? torn : others) += 1;
  }
  EXPECT_TRUE(torn > 0 || StepsApart(1) > 1);
  EXPECT_GT(others, 0);
}

// Both have come from the checkpoint, whether the one is there again or not.
TEST_F(CopyRollbackTest, KnowsAfterADeathInARollbackWhatItHasInCommon) {
  int done = 0;
  int not_begun = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(3)) {
    const Project project;
    std::string checkpoint;
    const auto [id, fork] = Fork(project, [&checkpoint](Transaction& transaction) {
      const auto made = transaction.Checkpoint("");
      if (made) checkpoint = made.value().id;
      Project::Change(transaction, "dir/new", "later");
    });
    const Stepped stepped = RunToStep(
        [&, &id = id] {
          auto one = Transaction::Resume(project.Options(), id);
          if (!one || (*one)->RollBack(checkpoint)) _exit(1);
        },
        step, Kill);
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    const auto one = project.Resume(id);
    const auto other = project.Resume(fork);
    ASSERT_TRUE(one && other) << step;
    const bool is_back = Reported(one.get()) == "a ";
    (is_back ? done : not_begun) += 1;
    Project::Remove(*other, "a");
    ASSERT_EQ(Planned(*one, *other), is_back ? "a takes dir/new takes " : "a takes ") << step;
  }
  EXPECT_GE(done, 5 / StepsApart(3));
  EXPECT_GT(not_begun, 10 / StepsApart(3));
}

TEST_F(CopyRollbackTest, ThatFailsTellsOfNoOtherChanges) {
  enum : int { kDone, kAsBefore, kRefused, kOther };
  int refused = 0;
  for (int step = 1; step < kMostSteps; step += StepsApart(13)) {
    const Project project;
    const Prepared prepared = Prepare(project);
    const Stepped stepped = RunFailing(
        [&] {
          auto opened = Transaction::Resume(project.Options(), prepared.id);
          if (!opened) _exit(kRefused);
          if (!(*opened)->RollBack(prepared.checkpoint)) _exit(kDone);
          const auto changes = (*opened)->Changes(PathFilter());
          if (!changes) _exit(kRefused);
          const std::string told = Reported(opened->get());
          _exit(told == prepared.after || told == prepared.before ? kAsBefore : kOther);
        },
        {EIO, step, true, ChangesFiles});
    if (!stepped.is_traced) GTEST_SKIP() << "no process can be traced here";
    if (!stepped.was_reached) break;
    ASSERT_TRUE(WIFEXITED(stepped.status)) << step;
    ASSERT_NE(WEXITSTATUS(stepped.status), kOther) << step;
    refused += WEXITSTATUS(stepped.status) == kRefused ? 1 : 0;
    bool is_done = false;
    ExpectWhole(project, prepared, &is_done);
    if (HasFailure()) FAIL() << step;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace native_runner
