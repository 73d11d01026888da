#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "supervise/network/network_questions.h"
#include "tests/supervise/support/loop.h"

namespace native_runner {
namespace {

using Answers = std::vector<std::pair<int, NetworkAnswer>>;
using Numbers = std::vector<std::uint64_t>;

constexpr std::uint64_t kNever = 3'600'000;

class OpenQuestionsTest : public testing::Test {
 protected:
  std::unique_ptr<OpenQuestions> Make(std::uint64_t answer_within_ms) {
    auto made = std::make_unique<OpenQuestions>(
        [this](std::uint64_t question, std::uint64_t asker, NetworkQuestion what) {
          told_.push_back(question);
          askers_.push_back(asker);
          hosts_.push_back(std::move(what.host));
        },
        [this](std::uint64_t question) { gone_.push_back(question); }, answer_within_ms);
    made->set_loop(loop_.get());
    return made;
  }
  NetworkQuestions::OnAnswer As(int name) {
    return [this, name](NetworkAnswer answer) { answers_.emplace_back(name, answer); };
  }
  static NetworkQuestion About(const char* host) {
    NetworkQuestion question;
    question.host = host;
    question.port = 443;
    return question;
  }

  TestLoop loop_;
  Numbers told_;
  Numbers askers_;
  std::vector<std::string> hosts_;
  Numbers gone_;
  Answers answers_;
};

TEST_F(OpenQuestionsTest, AnAnswerReachesWhoAsked) {
  const auto questions = Make(kNever);
  const auto first = questions->Ask(7, About("a.test"), As(1));
  const auto second = questions->Ask(8, About("b.test"), As(2));
  EXPECT_EQ(told_, (Numbers{first, second}));
  EXPECT_EQ(askers_, (Numbers{7, 8}));
  EXPECT_EQ(hosts_, (std::vector<std::string>{"a.test", "b.test"}));
  questions->Answer(second, NetworkAnswer::kAllow);
  questions->Answer(first, NetworkAnswer::kDeny);
  questions->Answer(first, NetworkAnswer::kAllow);  // twice
  EXPECT_EQ(answers_, (Answers{{2, NetworkAnswer::kAllow}, {1, NetworkAnswer::kDeny}}));
  EXPECT_TRUE(gone_.empty());
}

TEST_F(OpenQuestionsTest, NoAnswerInTimeIsNone) {
  const auto questions = Make(40);
  uv_update_time(loop_.get());  // timers count from the loop's own time
  const auto start = uv_hrtime();
  const auto asked = questions->Ask(7, About("a.test"), As(1));
  ASSERT_TRUE(loop_.RunUntil([this] { return !answers_.empty(); }));
  EXPECT_GE((uv_hrtime() - start) / 1'000'000, 39u);
  EXPECT_EQ(answers_, (Answers{{1, NetworkAnswer::kNone}}));
  EXPECT_EQ(gone_, (Numbers{asked}));
  questions->Answer(asked, NetworkAnswer::kAllow);  // too late
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(OpenQuestionsTest, OneThatIsWithdrawnIsAnsweredNoMore) {
  const auto questions = Make(20);
  const auto asked = questions->Ask(7, About("a.test"), As(1));
  questions->Withdraw(asked);
  questions->Withdraw(asked);
  questions->Answer(asked, NetworkAnswer::kAllow);
  loop_.RunFor(60);
  EXPECT_TRUE(answers_.empty());
  EXPECT_EQ(gone_, (Numbers{asked}));
}

TEST_F(OpenQuestionsTest, WhereNobodyCanBeAskedTheAnswerIsNoneAndComesLater) {
  const auto questions = Make(kNever);
  questions->Ask(0, About("a.test"), As(1));
  EXPECT_TRUE(answers_.empty());
  ASSERT_TRUE(loop_.RunUntil([this] { return !answers_.empty(); }));
  EXPECT_EQ(answers_, (Answers{{1, NetworkAnswer::kNone}}));
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(gone_.empty());
}

TEST_F(OpenQuestionsTest, TooManyAreNotTold) {
  const auto questions = Make(kNever);
  Numbers asked;
  for (std::size_t i = 0; i <= kMostOpenQuestions; ++i)
    asked.push_back(questions->Ask(7, About("a.test"), As(static_cast<int>(i))));
  EXPECT_EQ(told_.size(), kMostOpenQuestions);
  ASSERT_TRUE(loop_.RunUntil([this] { return !answers_.empty(); }));
  EXPECT_EQ(answers_, (Answers{{static_cast<int>(kMostOpenQuestions), NetworkAnswer::kNone}}));
  questions->Answer(asked.front(), NetworkAnswer::kDeny);
  questions->Ask(7, About("b.test"), As(-1));
  EXPECT_EQ(told_.size(), kMostOpenQuestions + 1);
}

TEST_F(OpenQuestionsTest, AnAnswerMayAskTheNextQuestion) {
  const auto questions = Make(20);
  questions->Ask(7, About("a.test"), [&](NetworkAnswer answer) {
    answers_.emplace_back(1, answer);
    questions->Ask(7, About("b.test"), As(2));
  });
  ASSERT_TRUE(loop_.RunUntil([this] { return answers_.size() == 2; }));
  EXPECT_EQ(hosts_, (std::vector<std::string>{"a.test", "b.test"}));
}

}  // namespace
}  // namespace native_runner
