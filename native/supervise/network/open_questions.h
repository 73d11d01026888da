#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "supervise/network/network_questions.h"
#include "supervise/os/handle.h"

namespace native_runner {

// How long an answer may take. A person has to read and to decide; the client waits meanwhile, and
// most of them give up after a minute.
inline constexpr std::uint64_t kAnswerWithinMs = 30'000;
// How many questions wait at once, of all sandboxes of a supervisor.
inline constexpr std::size_t kMostOpenQuestions = 256;

// The questions of one supervisor, from the moment they are asked to their answer. Whoever is told
// of one answers by its number; without an answer in time, without anybody to ask and with too many
// open, the answer is kNone. Supervisor thread only.
class OpenQuestions final : public NetworkQuestions {
 public:
  using OnQuestion =
      std::function<void(std::uint64_t question, std::uint64_t asker, NetworkQuestion what)>;
  // Nobody waits for the answer of a question that was told any more.
  using OnGone = std::function<void(std::uint64_t question)>;

  OpenQuestions(OnQuestion on_question, OnGone on_gone,
                std::uint64_t answer_within_ms = kAnswerWithinMs)
      : on_question_(std::move(on_question)),
        on_gone_(std::move(on_gone)),
        answer_within_ms_(answer_within_ms) {}

  // Before the first question.
  void set_loop(uv_loop_t* loop) { loop_ = loop; }

  std::uint64_t Ask(std::uint64_t asker, NetworkQuestion question, OnAnswer on_answer) override;
  void Withdraw(std::uint64_t question) override;
  // Nothing for one that has ended: an answer may cross with that.
  void Answer(std::uint64_t question, NetworkAnswer answer);

 private:
  struct Open {
    OnAnswer on_answer;
    bool is_told = false;
    Timer deadline;
  };

  void End(std::uint64_t question);

  OnQuestion on_question_;
  OnGone on_gone_;
  std::uint64_t answer_within_ms_;
  uv_loop_t* loop_ = nullptr;
  std::map<std::uint64_t, std::unique_ptr<Open>> open_;
  std::uint64_t last_ = 0;
};

}  // namespace native_runner
