#include "supervise/network/decide/admissions.h"

#include <cstddef>
#include <utility>

#include "policy/network/record/connection_record.h"

namespace native_runner {
namespace {

constexpr char kAsked[] = "onRequest";
// Of one sandbox at once: its command could have all that a supervisor keeps open otherwise, and
// those of others were denied.
constexpr std::size_t kMostQuestions = 32;

Admission AdmissionOf(NetworkAnswer answer) {
  switch (answer) {
    case NetworkAnswer::kAllow:
      return {.allowed = true, .rule = kAsked, .reason = ""};
    case NetworkAnswer::kDeny:
      return {.allowed = false, .rule = kAsked, .reason = "onRequest denied it"};
    case NetworkAnswer::kNone:
      break;
  }
  return {.allowed = false, .rule = kAsked, .reason = kNoAnswer};
}

}  // namespace

Admissions::~Admissions() {
  for (const auto& [key, open] : open_)
    questions_->Withdraw(open.question);
}

std::uint64_t Admissions::Decide(const NamedHost& host, std::uint16_t port, ConnectionVia via,
                                 OnDecided on_decided) {
  Decision decision = DecideConnection(policy_->rules, host, port);
  const bool can_ask = policy_->rules.asks && policy_->asker != 0 && questions_ != nullptr;
  if (decision.verdict != Verdict::kUndecided || !can_ask) {
    const bool allowed = decision.verdict == Verdict::kAllowed;
    on_decided({.allowed = allowed,
                .rule = std::move(decision.rule),
                .reason = allowed ? "" : VerdictReasonText(decision.reason)});
    return 0;
  }
  const std::string key = HostText(host) + ":" + std::to_string(port);
  if (open_.size() >= kMostQuestions && !open_.contains(key)) {
    on_decided({.allowed = false, .rule = kAsked, .reason = "too many questions are open"});
    return 0;
  }
  const std::uint64_t number = ++next_;
  const auto [place, is_new] = open_.try_emplace(key);
  place->second.waiting.emplace(number, std::move(on_decided));
  if (is_new) {
    NetworkQuestion question = {
        .host = HostText(host), .port = port, .via = via, .argv = recorder_->argv()};
    place->second.question =
        questions_->Ask(policy_->asker, std::move(question),
                        [this, key](NetworkAnswer answer) { Answered(key, answer); });
  }
  return number;
}

void Admissions::Forget(std::uint64_t number) {
  for (auto open = open_.begin(); open != open_.end(); ++open) {
    if (open->second.waiting.erase(number) == 0) continue;
    if (open->second.waiting.empty()) {
      questions_->Withdraw(open->second.question);
      open_.erase(open);
    }
    return;
  }
}

void Admissions::Answered(const std::string& key, NetworkAnswer answer) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  auto open = open_.extract(found);
  // One may have another forgotten that waits for the same: each is taken out before it is called.
  // What is decided here has no question any more, so Forget finds nothing.
  for (auto& [number, on_decided] : open.mapped().waiting)
    on_decided(AdmissionOf(answer));
}

}  // namespace native_runner
