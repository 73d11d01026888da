#include "supervise/network/network_questions.h"

#include <utility>

namespace native_runner {

std::uint64_t OpenQuestions::Ask(std::uint64_t asker, NetworkQuestion question,
                                 OnAnswer on_answer) {
  const std::uint64_t number = ++last_;
  auto open = std::make_unique<Open>();
  open->on_answer = std::move(on_answer);
  open->is_reported = asker != 0 && open_.size() < kMostOpenQuestions;
  // Even an immediate answer is delivered later, as the caller does not have the number yet.
  open->deadline.Start(loop_, open->is_reported ? answer_within_ms_ : 0, 0,
                       [this, number] { End(number); });
  const bool is_reported = open->is_reported;
  open_.emplace(number, std::move(open));
  if (is_reported) on_question_(number, asker, std::move(question));
  return number;
}

void OpenQuestions::Withdraw(std::uint64_t question) {
  const auto found = open_.find(question);
  if (found == open_.end()) return;
  const bool is_reported = found->second->is_reported;
  open_.erase(found);
  if (is_reported) on_gone_(question);
}

void OpenQuestions::Answer(std::uint64_t question, NetworkAnswer answer) {
  const auto found = open_.find(question);
  if (found == open_.end()) return;
  const OnAnswer on_answer = std::move(found->second->on_answer);
  open_.erase(found);
  on_answer(answer);
}

void OpenQuestions::End(std::uint64_t question) {
  const auto found = open_.find(question);
  const bool is_reported = found->second->is_reported;
  const OnAnswer on_answer = std::move(found->second->on_answer);
  open_.erase(found);  // also closes the timer that calls this
  if (is_reported) on_gone_(question);
  on_answer(NetworkAnswer::kNone);
}

}  // namespace native_runner
