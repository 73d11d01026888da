#include "supervise/network/open_questions.h"

#include <utility>

namespace native_runner {

std::uint64_t OpenQuestions::Ask(std::uint64_t asker, NetworkQuestion question,
                                 OnAnswer on_answer) {
  const std::uint64_t number = ++last_;
  auto open = std::make_unique<Open>();
  open->on_answer = std::move(on_answer);
  open->is_told = asker != 0 && open_.size() < kMostOpenQuestions;
  // Also an answer that is known now comes later: who asks has not got the number yet.
  open->deadline.Start(loop_, open->is_told ? answer_within_ms_ : 0, 0,
                       [this, number] { End(number); });
  const bool is_told = open->is_told;
  open_.emplace(number, std::move(open));
  if (is_told) on_question_(number, asker, std::move(question));
  return number;
}

void OpenQuestions::Withdraw(std::uint64_t question) {
  const auto found = open_.find(question);
  if (found == open_.end()) return;
  const bool is_told = found->second->is_told;
  open_.erase(found);
  if (is_told) on_gone_(question);
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
  const bool is_told = found->second->is_told;
  const OnAnswer on_answer = std::move(found->second->on_answer);
  open_.erase(found);  // closes the timer that calls this
  if (is_told) on_gone_(question);
  on_answer(NetworkAnswer::kNone);
}

}  // namespace native_runner
