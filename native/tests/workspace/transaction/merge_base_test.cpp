// The states that transactions have come from, and the host's texts that they keep.
#include "workspace/transaction/merge_base.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/supervise/support/temp_directory.h"
#include "workspace/changes/same_file.h"
#include "workspace/transaction/kept_texts.h"
#include "workspace/tree/staged_file.h"

namespace native_runner {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckpoint = "0123456789ab";

class MergeBaseTest : public testing::Test {
 protected:
  MergeBaseTest() {
    for (const char* name : {"own", "other", "state", "tree/dir"})
      fs::create_directories(place_.Path(name));
  }

  Descriptor Own() const { return Open("own"); }
  Descriptor Open(const std::string& name) const {
    return Descriptor(open(place_.Path(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ScannedTree Tree() const { return ScannedTree(Open("tree"), true); }
  Change ChangeAt(const std::string& path) const {
    const auto spot = SpotOf(Tree(), path);
    EXPECT_TRUE(spot);
    return ChangeOf(path, {spot.value().node, std::nullopt});
  }
  static Change Removed(const std::string& path) {
    Change change;
    change.path = path;
    change.kind = Change::Kind::kDeleted;
    return change;
  }
  static KeptPaths::About About(std::uint64_t created_ns, PathFilter scope = {}) {
    return {created_ns, "/work", std::move(scope), {}};
  }
  static CheckpointRecord CheckpointAt(std::uint64_t created_ns) {
    return {kCheckpoint, "", 1, created_ns, ""};
  }
  std::string Add(const std::string& name) const {
    const std::string id = NewId().value();
    EXPECT_FALSE(AddStagedBase(Own().get(), name, id));
    EXPECT_FALSE(AddStagedBase(Own().get(), name, id));  // it is there
    return id;
  }
  void Share(const std::string& id) const {
    EXPECT_FALSE(ShareBases(Own().get(), Open("other").get(), false, id));
  }
  MergeBase Base() const {
    auto base = MergeBase::Of(Own().get(), Open("other").get(), Open("state").get(), "/work");
    EXPECT_TRUE(base);
    return base ? std::move(*base) : MergeBase();
  }
  std::string Found(const std::string& path) const {
    const MergeBase base = Base();
    const auto found = base.Find(path);
    return found ? found->kept->ContentsOf(*found->entry).value_or("unknown") : "none";
  }
  TextOnHost TextAt(const std::string& path) const {
    const auto spot = SpotOf(Tree(), path);
    EXPECT_TRUE(spot && spot.value().node);
    return {path, *spot.value().node};
  }

  TempDirectory place_;
};

TEST_F(MergeBaseTest, HasWhatWasThereWhenItWasStaged) {
  place_.Write("tree/dir/file", "as it was");
  fs::create_symlink("file", place_.Path("tree/link"));
  std::vector<Change> changes = {ChangeAt("dir"), ChangeAt("dir/file"), Removed("gone"),
                                 ChangeAt("link")};
  changes.back().target = "file";
  ASSERT_FALSE(StageBase(Own().get(), "x", About(1), changes, Tree()));
  EXPECT_FALSE(Base().Find("dir/file"));  // not before it is added
  Share(Add("x"));
  place_.Write("tree/dir/file", "otherwise");
  const MergeBase base = Base();
  EXPECT_FALSE(base.Find("elsewhere"));
  EXPECT_EQ(base.Find("gone")->entry->mode, 0U);
  EXPECT_EQ(base.Find("link")->entry->target, "file");
  const auto file = base.Find("dir/file");
  EXPECT_EQ(file->kept->ContentsOf(*file->entry), "as it was");
  const auto is_at = [&](const std::string& path) {
    const auto spot = SpotOf(Tree(), path);
    const auto found = base.Find(path);
    return found->kept->IsAt(*found->entry, spot.value(), std::string(SplitPath(path).name));
  };
  EXPECT_FALSE(is_at("dir/file"));  // the same size, other contents
  EXPECT_TRUE(is_at("link"));
  EXPECT_TRUE(is_at("gone"));
  place_.Write("tree/dir/file", "as it was");
  EXPECT_TRUE(is_at("dir/file"));
  chmod(place_.Path("tree/dir/file").c_str(), 0755);
  EXPECT_FALSE(is_at("dir/file"));
}

TEST_F(MergeBaseTest, IsTheLatestThatBothHaveAndThatTellsOfThePath) {
  place_.Write("tree/one", "one");
  place_.Write("tree/two", "two");
  ASSERT_FALSE(StageBase(Own().get(), "x", About(1), {ChangeAt("one"), ChangeAt("two")}, Tree()));
  Share(Add("x"));
  place_.Write("tree/one", "ONE");
  place_.Write("tree/two", "TWO");
  const auto paths = PathFilter::Of({"two"});
  ASSERT_TRUE(paths);
  ASSERT_FALSE(StageBase(Own().get(), "x", About(2, paths.value()),
                         {ChangeAt("one"), ChangeAt("two")}, Tree()));
  const std::string later = Add("x");
  EXPECT_EQ(Found("two"), "two");  // the other one has not come from the later state
  Share(later);
  EXPECT_EQ(Found("two"), "TWO");
  EXPECT_EQ(Found("one"), "one");
}

TEST_F(MergeBaseTest, IsNoneWhenItIsDamagedDroppedOrUnshared) {
  place_.Write("tree/one", "one");
  ASSERT_FALSE(StageBase(Own().get(), "x", About(1), {ChangeAt("one")}, Tree()));
  const std::string id = Add("x");
  Share(id);
  const std::string list = fs::directory_iterator(place_.Path("own/bases"))->path() / "list";
  const std::string name = list.substr(place_.Path("").size());
  const std::string text = place_.Read(name);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    place_.Write(name, damaged);
    EXPECT_FALSE(Base().Find("one")) << at;
  }
  place_.Write(name, text);
  EXPECT_EQ(Found("one"), "one");
  EXPECT_TRUE(TidyBases(Own().get()));
  const auto newer = DropBasesSince(Open("other").get(), CheckpointAt(NowNs() + 1));
  ASSERT_TRUE(newer);
  EXPECT_FALSE(newer.value());
  EXPECT_EQ(Found("one"), "one");  // it is older
  const auto all = DropBasesSince(Open("other").get(), CheckpointAt(1));
  ASSERT_TRUE(all);
  EXPECT_FALSE(all.value());  // it had not come from the checkpoint
  EXPECT_FALSE(Base().Find("one"));
  EXPECT_FALSE(TidyBases(Own().get()));  // nobody else has it
  ASSERT_FALSE(StageBase(Own().get(), "y", About(3), {}, Tree()));
  DropStagedBases(Own().get());
  EXPECT_TRUE(AddStagedBase(Own().get(), "y", NewId().value()));
}

TEST_F(MergeBaseTest, IsThereAgainWhereTheOneHasNotGoneBack) {
  place_.Write("tree/one", "later");
  KeptPaths::About about = About(5);
  about.origins = {kCheckpoint};
  ASSERT_FALSE(StageBase(Own().get(), "x", about, {ChangeAt("one")}, Tree()));
  Share(Add("x"));
  EXPECT_FALSE(HasDroppedBases(Own().get()));
  ASSERT_TRUE(DropBasesSince(Own().get(), CheckpointAt(1)));
  EXPECT_TRUE(HasDroppedBases(Own().get()));
  EXPECT_EQ(Found("one"), "none");
  RestoreDroppedBases(Own().get());
  EXPECT_FALSE(HasDroppedBases(Own().get()));
  EXPECT_EQ(Found("one"), "later");
}

TEST_F(MergeBaseTest, IsTheCheckpointThatTheOneWentBackToAndTheOtherHasComeFrom) {
  place_.Write("tree/one", "later");
  KeptPaths::About about = About(5);
  about.origins = {kCheckpoint};
  ASSERT_FALSE(StageBase(Own().get(), "x", about, {ChangeAt("one")}, Tree()));
  Share(Add("x"));
  EXPECT_EQ(Found("one"), "later");
  const CheckpointRecord checkpoint = CheckpointAt(1);
  for (int round = 0; round < 2; ++round) {
    const auto dropped = DropBasesSince(Own().get(), checkpoint);
    ASSERT_TRUE(dropped);
    EXPECT_TRUE(dropped.value());
    EXPECT_EQ(Found("one"), "none");
    place_.Write("tree/one", "before");
    about.created_ns = 1;
    ASSERT_FALSE(StageBase(Own().get(), "own", about, {ChangeAt("one")}, Tree()));
    ASSERT_FALSE(AddStagedBase(Own().get(), "own", checkpoint));
    EXPECT_EQ(Found("one"), "before");
    // The other one alone has the later state, and still has come from the checkpoint.
    EXPECT_TRUE(TidyBases(Open("other").get()));
    EXPECT_TRUE(TidyBases(Own().get()));
    EXPECT_EQ(Found("one"), "before");
  }
  fs::remove_all(place_.Path("other/bases"));
  EXPECT_FALSE(TidyBases(Own().get()));
  EXPECT_TRUE(fs::is_empty(place_.Path("own/bases")));
}

TEST_F(MergeBaseTest, IsACheckpointsStateWhereTheOtherHasTakenALaterOne) {
  place_.Write("tree/one", "1");
  place_.Write("tree/two", "1");
  const auto paths = PathFilter::Of({"two"});
  ASSERT_TRUE(paths);
  KeptPaths::About about = About(5, paths.value());
  about.origins = {kCheckpoint};
  const std::vector<Change> changes = {ChangeAt("one"), ChangeAt("two")};
  ASSERT_FALSE(StageBase(Own().get(), "x", about, changes, Tree()));
  Share(Add("x"));
  const CheckpointRecord checkpoint = CheckpointAt(1);
  ASSERT_TRUE(DropBasesSince(Own().get(), checkpoint));
  about.scope = {};
  ASSERT_FALSE(StageBase(Own().get(), "own", about, changes, Tree()));
  ASSERT_FALSE(AddStagedBase(Own().get(), "own", checkpoint));
  EXPECT_EQ(Found("two"), "1");
  EXPECT_EQ(Found("one"), "none");
}

TEST_F(MergeBaseTest, OfSeveralIsTheOneThatHasChangedThePathSinceTheyParted) {
  std::uint64_t created_ns = 0;
  const auto add = [&](const char* text, const std::vector<std::string>& origins) {
    place_.Write("tree/one", text);
    KeptPaths::About about = About(++created_ns);
    about.origins = origins;
    EXPECT_FALSE(StageBase(Own().get(), "x", about, {ChangeAt("one")}, Tree()));
    const std::string id = Add("x");
    Share(id);
    return id;
  };
  const auto rivals = [&] { return Base().Find("one")->rivals.size(); };
  const std::string parted = add("0", {});
  const std::string one = add("1", {parted});
  const std::string other = add("0", {parted});
  EXPECT_EQ(Found("one"), "1");
  EXPECT_EQ(rivals(), 0U);
  const std::string same = add("1", {parted});
  EXPECT_EQ(rivals(), 0U);
  const std::string third = add("2", {parted});
  EXPECT_EQ(rivals(), 1U);
  add("0", {parted, one, other, same, third});
  EXPECT_EQ(Found("one"), "0");
  EXPECT_EQ(rivals(), 0U);
}

TEST_F(MergeBaseTest, WhatACommitHasReplacedIsTheBaseOfWhatWasAsOnTheHost) {
  place_.Write("tree/one", "one");
  place_.Write("tree/two", "two");
  ASSERT_FALSE(StageBase(Own().get(), "x", About(1), {ChangeAt("one")}, Tree()));
  Share(Add("x"));
  const Descriptor state = Open("state");
  EXPECT_FALSE(HasReplaced(state.get()));
  ASSERT_FALSE(KeepReplaced(state.get(), "/work", {"two", "new"}, Tree()));
  ASSERT_FALSE(KeepReplaced(state.get(), "/elsewhere", {"one"}, Tree()));
  place_.Write("tree/two", "TWO");
  ASSERT_FALSE(KeepReplaced(state.get(), "/work", {"two"}, Tree()));
  EXPECT_EQ(Found("two"), "two");  // the first commit since
  EXPECT_TRUE(Base().Find("two")->is_hosts);
  EXPECT_EQ(Base().Find("new")->entry->mode, 0U);
  EXPECT_FALSE(Base().Find("one")->is_hosts);
  EXPECT_EQ(ReplacedPaths(state.get(), "/work").value(), (std::set<std::string>{"new", "two"}));
  TidyReplaced(state.get(), "/work", 1);
  EXPECT_EQ(Found("two"), "two");
  TidyReplaced(state.get(), "/work", std::nullopt);
  EXPECT_FALSE(Base().Find("two"));
  EXPECT_TRUE(HasReplaced(state.get()));  // another workspace's
  TidyReplaced(state.get(), "/elsewhere", std::nullopt);
  EXPECT_FALSE(HasReplaced(state.get()));
}

TEST_F(MergeBaseTest, WhatADeathHasLeftOfACommitsFilesGoesLater) {
  const std::string now = std::to_string(NowNs());
  const std::string recent = "state/replaced/new-" + std::string(20 - now.size(), '0') + now + "-b";
  const std::string old = "state/replaced/new-00000000000000000001-a";
  for (const std::string& name : {old, recent})
    fs::create_directories(place_.Path(name));
  TidyReplaced(Open("state").get(), "/work", 1);
  EXPECT_FALSE(place_.Has(old));
  EXPECT_TRUE(place_.Has(recent));  // another process may be writing it
}

TEST_F(MergeBaseTest, WhatCantBeKeptOfACommitsFilesIsAnError) {
  const Descriptor state = Open("state");
  place_.Write("state/replaced", "in the way");
  EXPECT_TRUE(KeepReplaced(state.get(), "/work", {"gone"}, Tree()));  // an error
  fs::remove(place_.Path("state/replaced"));
  EXPECT_FALSE(KeepReplaced(state.get(), "/work", {"gone"}, Tree()));  // the control
}

TEST_F(MergeBaseTest, TextsAreFoundByTheExactStateOfTheirFile) {
  place_.Write("tree/text", "text");
  place_.Write("tree/binary", std::string("a\0b", 3));
  const TextOnHost text = TextAt("text");
  const Descriptor own = Own();
  ASSERT_FALSE(KeepTexts(own.get(), Tree(), {text, TextAt("binary")}, {}));
  place_.Write("tree/text", "TEXT");
  const auto find = [&](const std::string& path, const HostFile& file) {
    return KeptTexts(Own(), {}).Find(path, file);
  };
  EXPECT_EQ(find("text", text.file), "text");
  EXPECT_FALSE(find("other", text.file));
  EXPECT_FALSE(find("binary", TextAt("binary").file));
  HostFile later = text.file;
  later.changed_ns += 1;
  EXPECT_FALSE(find("text", later));
  // What the file is no more is not kept: what it was is not there.
  ASSERT_FALSE(KeepTexts(own.get(), Tree(), {{"text", later}}, {}));
  EXPECT_FALSE(find("text", later));
}

TEST_F(MergeBaseTest, TextsGoWithTheirBaselines) {
  place_.Write("tree/one", "one");
  place_.Write("tree/two", "two");
  const TextOnHost one = TextAt("one");
  const TextOnHost two = TextAt("two");
  const Descriptor own = Own();
  ASSERT_FALSE(KeepTexts(own.get(), Tree(), {one}, {}));
  ASSERT_FALSE(KeepTexts(own.get(), Tree(), {two}, {}));
  fs::create_directories(place_.Path("own/texts/new-0123456789ab"));
  Ledger ledger;
  ledger.baselines["two"] = Baseline{0, false, two.file, {}};
  TidyTexts(own.get(), ledger, {});
  const KeptTexts kept(Own(), {});
  EXPECT_FALSE(kept.Find("one", one.file));
  EXPECT_EQ(kept.Find("two", two.file), "two");
  EXPECT_FALSE(place_.Has("own/texts/new-0123456789ab"));
}

TEST_F(MergeBaseTest, TextsForCopiesAreKeptOnceAndGoWithTheCopies) {
  place_.Write("tree/one", "one");
  const TextOnHost one = TextAt("one");
  const Descriptor state = Open("state");
  const auto find = [&](const char* workspace) {
    return KeptTexts::OfCopies(Open("state"), workspace, {}).Find("one", one.file);
  };
  ASSERT_FALSE(KeepReplacedTexts(state.get(), "/work", Tree(), {one}, {}));
  EXPECT_EQ(find("/work"), "one");
  EXPECT_FALSE(find("/other"));
  EXPECT_FALSE(KeptTexts(Open("state"), {}).Find("one", one.file)) << "they are no transaction's";
  TidyReplacedTexts(state.get(), "/other", std::nullopt);
  TidyReplacedTexts(state.get(), "/work", one.file.born_ns);
  EXPECT_EQ(find("/work"), "one") << "there is an older copy";
  TidyReplacedTexts(state.get(), "/work", NowNs());
  EXPECT_FALSE(find("/work"));
  ASSERT_FALSE(KeepReplacedTexts(state.get(), "/work", Tree(), {one}, {}));
  TidyReplacedTexts(state.get(), "/work", std::nullopt);
  EXPECT_FALSE(place_.Has("state/replaced-texts"));
}

TEST_F(MergeBaseTest, OfTextsForCopiesTheOldestGo) {
  place_.Write("tree/one", "one");
  const TextOnHost one = TextAt("one");
  const Descriptor state = Open("state");
  ASSERT_FALSE(KeepReplacedTexts(state.get(), "/work", Tree(), {one}, {}));
  const auto all = fs::directory_iterator(place_.Path("state/replaced-texts"))->path();
  const fs::path first = fs::directory_iterator(all)->path();
  for (std::size_t count = 1; count < kMostTimesKept; ++count)
    fs::create_directory(all / ("9" + std::to_string(count)));
  ASSERT_FALSE(KeepReplacedTexts(state.get(), "/work", Tree(), {one}, {}));
  EXPECT_FALSE(fs::exists(first));
  const auto left = std::distance(fs::directory_iterator(all), fs::directory_iterator());
  EXPECT_EQ(static_cast<std::size_t>(left), kMostTimesKept);
}

// While commands run, what was told as a change may be another file, or none, by the time that its
// contents are kept.
TEST_F(MergeBaseTest, KeepsWhatIsThereByThen) {
  for (const char* name : {"tree/stays", "tree/grows", "tree/goes", "tree/dir/goes"})
    place_.Write(name, "first");
  std::vector<Change> changes;
  for (const char* path : {"stays", "grows", "goes", "dir/goes"})
    changes.push_back(ChangeAt(path));
  fs::remove(place_.Path("tree/goes"));
  fs::remove_all(place_.Path("tree/dir"));
  place_.Write("tree/grows", "1st");
  ASSERT_FALSE(StageBase(Own().get(), "one", About(1), changes, Tree()));
  Share(Add("one"));
  EXPECT_EQ(Found("stays"), "first");
  EXPECT_EQ(Found("grows"), "1st");
  const MergeBase base = Base();
  for (const char* path : {"goes", "dir/goes"}) {
    const auto found = base.Find(path);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(found->entry->mode, 0U) << path;
  }
}

}  // namespace
}  // namespace native_runner
