#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "supervise/host/program.h"
#include "tests/supervise/support/loop.h"
#include "tests/supervise/support/processes.h"
#include "tests/supervise/support/requests.h"
#include "tests/supervise/support/temp_directory.h"

namespace native_runner {
namespace {

using Answer = Result<std::shared_ptr<const Program>>;

class FindProgramTest : public testing::Test {
 protected:
  std::string Find(const std::string& search_path) const {
    const auto found = FindProgram("tool", search_path);
    return found ? found.value() : "none";
  }
  TempDirectory directory_;
};

TEST_F(FindProgramTest, TakesTheFirstOnThePath) {
  std::filesystem::create_directories(directory_.Path("a"));
  std::filesystem::create_directories(directory_.Path("b"));
  const std::string second = directory_.Write("b/tool", "", 0755);
  const std::string path = directory_.Path("a") + ":" + directory_.Path("b");
  EXPECT_EQ(Find(path), second);
  const std::string first = directory_.Write("a/tool", "", 0755);
  EXPECT_EQ(Find(path), first);
}

TEST_F(FindProgramTest, SkipsRelativeEntries) {
  directory_.Write("tool", "", 0755);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  for (const char* path : {"", ":", ".", "./", "::.:", ".."})
    EXPECT_EQ(Find(path), "none") << path;
  EXPECT_EQ(Find(":.:" + directory_.path() + ":"), directory_.Path("tool"));
  std::filesystem::current_path(before);
}

TEST_F(FindProgramTest, SkipsWhatCannotBeExecuted) {
  std::filesystem::create_directories(directory_.Path("a/tool"));  // a directory of that name
  std::filesystem::create_directories(directory_.Path("b"));
  std::filesystem::create_directories(directory_.Path("c"));
  directory_.Write("b/tool", "", 0644);
  const std::string good = directory_.Write("c/tool", "", 0755);
  const std::string path = directory_.Path("a") + ":" + directory_.Path("b");
  EXPECT_EQ(Find(path), "none");
  EXPECT_EQ(Find(path + ":" + directory_.Path("c")), good);
}

TEST_F(FindProgramTest, SaysWhereItLookedAndWhatToInstall) {
  const auto found = FindProgram("bwrap", directory_.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(found.error().message.find(directory_.path()), std::string::npos);
  EXPECT_NE(found.error().fix.find("bubblewrap"), std::string::npos);
}

TEST_F(FindProgramTest, ChecksAnAbsolutePath) {
  const std::string good = directory_.Write("good", "", 0755);
  const std::string plain = directory_.Write("plain", "", 0644);
  EXPECT_EQ(*FindProgram(good, ""), good);
  for (const std::string& path : {plain, directory_.path(), directory_.Path("missing")}) {
    const auto found = FindProgram(path, "/usr/bin:/bin");
    ASSERT_FALSE(found) << path;
    EXPECT_EQ(found.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(found.error().message.find(path + ": "), std::string::npos) << found.error().message;
  }
}

class ProgramsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto null_device = OpenPath("/dev/null", O_RDWR);
    ASSERT_TRUE(null_device);
    null_device_ = std::move(*null_device);
    Use(directory_.path());
  }

  void Use(const std::string& search_path) {
    programs_ = std::make_unique<Programs>(loop_.get(), null_device_.get(), search_path);
  }

  void Script(const std::string& body) { directory_.Write("bwrap", "#!/bin/sh\n" + body, 0755); }

  void Get(std::optional<Answer>* answer) {
    programs_->Get("bwrap", [answer](Answer given) {
      EXPECT_FALSE(*answer) << "called back twice";
      *answer = std::move(given);
    });
  }

  std::optional<Answer> Wait() {
    std::optional<Answer> answer;
    Get(&answer);
    EXPECT_TRUE(loop_.RunUntil([&] { return answer.has_value(); }));
    return answer;
  }

  TestLoop loop_;
  TempDirectory directory_;
  Descriptor null_device_;
  std::unique_ptr<Programs> programs_;
};

TEST_F(ProgramsTest, ReadsTheHelpOnceAndAnswersAtOnceFromThenOn) {
  Script("echo called >> " + directory_.Path("log") +
         "\n[ \"$*\" = --help ] || exit 9\nprintf '    --as-pid-1   x\\n    --bind-fd FD x\\n'");
  const auto first = Wait();
  ASSERT_TRUE(first && *first) << first->error().message;
  const std::shared_ptr<const Program> program = first->value();
  EXPECT_EQ(program->path, directory_.Path("bwrap"));
  EXPECT_TRUE(program->features.as_pid_1 && program->features.bind_fd);
  EXPECT_FALSE(program->features.disable_userns || program->features.size);
  EXPECT_FALSE(program->image.valid()) << "a script's interpreter reads it by name";

  std::optional<Answer> second;
  Get(&second);
  ASSERT_TRUE(second && *second) << "not at once";
  EXPECT_EQ(second->value(), program);
  EXPECT_EQ(directory_.Read("log"), "called\n");
}

TEST_F(ProgramsTest, LooksOnAThreadThatCanBeLeftBehind) {
  FileThreads files;
  ASSERT_EQ(files.Open(loop_.get()), 0);
  programs_ =
      std::make_unique<Programs>(loop_.get(), null_device_.get(), directory_.path(), &files);
  std::optional<Answer> missing;
  Get(&missing);
  EXPECT_FALSE(missing) << "this thread does not look";
  EXPECT_TRUE(loop_.RunUntil([&] { return missing.has_value(); }));
  EXPECT_EQ((*missing).error().code, ErrorCode::kUnavailable);

  Script("echo '  --as-pid-1'");
  std::optional<Answer> other;
  Get(&other);
  const auto good = Wait();
  ASSERT_TRUE(good && *good && other && *other) << "all who wait are told";
  EXPECT_EQ(good->value(), other->value());
  EXPECT_FALSE(programs_->Late());
  programs_->Close();
  files.Close();
}

TEST_F(ProgramsTest, LooksAgainForWhatWasMissingOrBroken) {
  std::optional<Answer> missing;
  Get(&missing);
  ASSERT_TRUE(missing && !*missing);
  EXPECT_EQ(missing->error().code, ErrorCode::kUnavailable);

  Script("exit 3");
  const auto broken = Wait();
  ASSERT_TRUE(broken && !*broken);
  EXPECT_EQ(broken->error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(broken->error().message,
            directory_.Path("bwrap") + " does not answer --help: it ended with status 3");

  Script("echo '  --as-pid-1'");
  const auto good = Wait();
  ASSERT_TRUE(good && *good);
  EXPECT_TRUE(good->value()->features.as_pid_1);
}

TEST_F(ProgramsTest, QuotesWhatABrokenOneSays) {
  Script("echo; echo '  no \"such\" library  ' >&2; echo more; exit 127");
  const auto broken = Wait();
  ASSERT_TRUE(broken && !*broken);
  EXPECT_EQ(
      broken->error().message,
      directory_.Path("bwrap") +
          R"( does not answer --help: it ended with status 127, saying "no \"such\" library")");
  Script("kill -SEGV $$");
  const auto killed = Wait();
  ASSERT_TRUE(killed && !*killed);
  EXPECT_EQ(killed->error().message,
            directory_.Path("bwrap") + " does not answer --help: it was ended by signal 11");
}

TEST_F(ProgramsTest, OneThatSomebodyElseEndedIsAskedAgain) {
  const std::string log = directory_.Path("log");
  Script("echo called >> " + log + "\n[ $(wc -l < " + log +
         ") -gt 2 ] || kill -KILL $$\necho '  --as-pid-1'");
  std::optional<Answer> other;
  Get(&other);
  const auto answer = Wait();
  ASSERT_TRUE(answer && *answer) << answer->error().message;
  EXPECT_TRUE(other && *other) << "all who wait are told";
  EXPECT_TRUE(answer->value()->features.as_pid_1);
  EXPECT_EQ(directory_.Read("log"), "called\ncalled\ncalled\n");
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(ProgramsTest, OneThatEndsBySignalsAgainAndAgainIsGivenUp) {
  Script("echo called >> " + directory_.Path("log") + "\nkill -KILL $$");
  const auto answer = Wait();
  ASSERT_TRUE(answer && !*answer);
  EXPECT_EQ(answer->error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(directory_.Read("log"), "called\ncalled\ncalled\n");
}

TEST_F(ProgramsTest, WhatCannotStartIsUnavailable) {
  directory_.Write("bwrap", "no program at all", 0755);
  std::optional<Answer> answer;
  Get(&answer);
  ASSERT_TRUE(answer && !*answer);
  EXPECT_EQ(answer->error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(ProgramsTest, OneThatHangsIsGivenFiveSeconds) {
  Script("echo called >> " + directory_.Path("log") + "\nexec sleep 60");
  const auto start = std::chrono::steady_clock::now();
  std::optional<Answer> other;
  Get(&other);
  const auto answer = Wait();
  const auto lasted = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(answer && !*answer);
  EXPECT_TRUE(other && !*other) << "all who wait are told";
  EXPECT_EQ(answer->error().code, ErrorCode::kUnavailable);
  EXPECT_NE(answer->error().message.find("ran over five seconds"), std::string::npos);
  EXPECT_GE(lasted, std::chrono::milliseconds(4'900));
  EXPECT_LT(lasted, std::chrono::seconds(10));
  EXPECT_EQ(directory_.Read("log"), "called\n") << "one probe serves all";
  EXPECT_EQ(CountChildren(), 0);
}

TEST_F(ProgramsTest, CloseEndsAProbeAndTellsWhoWaits) {
  Script("exec sleep 60");
  std::optional<Answer> answer;
  Get(&answer);
  EXPECT_EQ(CountChildren(), 1);
  programs_->Close();
  EXPECT_EQ(CountChildren(), 0);
  EXPECT_TRUE(loop_.RunToEnd(2'000));
  ASSERT_TRUE(answer && !*answer);
  EXPECT_EQ(answer->error().code, ErrorCode::kClosed);
}

TEST_F(ProgramsTest, KnowsTheRealOne) {
  const auto found = FindProgram("bwrap", HostPath());
  if (!found) GTEST_SKIP() << found.error().message;
  Use(HostPath());
  const auto answer = Wait();
  ASSERT_TRUE(answer && *answer) << answer->error().message;
  const Program& program = *answer->value();
  EXPECT_EQ(program.path, found.value());
  EXPECT_TRUE(program.features.as_pid_1);
  EXPECT_EQ(program.image.valid(), geteuid() == 0);
  SpawnOptions order;
  order.path = program.exec_path();
  order.argv = {"bwrap", "--version"};
  order.inherited = {{null_device_.get(), STDOUT_FILENO}};
  auto child = Child::Spawn(std::move(order));
  ASSERT_TRUE(child);
  ASSERT_TRUE(WaitForExit(child->pidfd()));
  EXPECT_EQ(child->Reap()->value, 0);
}

}  // namespace
}  // namespace native_runner
