#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "policy/result.h"
#include "supervise/supervisor.h"

// What a supervisor tells a Node environment, as values: each is a call of RunListener's that has
// crossed to the JavaScript thread.
namespace native_runner::news {

struct Chunk {
  std::uint64_t run;
  Stream stream;
  std::vector<std::uint8_t> bytes;
};

struct Event {
  std::uint64_t run;
  LiveEvent event;
};

struct Connection {
  std::uint64_t run;
  SandboxNetwork::RecordEvent event;
  ConnectionRecord record;
};

struct Ended {
  std::uint64_t run;
  RunResult result;
};

struct PoolAnswer {
  std::uint64_t request;
  Result<std::size_t> standing;
};

struct PortAnswer {
  std::uint64_t wait;
  PortState state;
};

struct SessionOpen {
  std::uint64_t session;
  Result<LayerRecord> layers;
};

struct SessionGone {
  std::uint64_t session;
  std::string reason;
};

struct Question {
  std::uint64_t question;
  std::uint64_t asker;
  NetworkQuestion what;
};

struct QuestionGone {
  std::uint64_t question;
};

using Item = std::variant<Chunk, Event, Connection, Ended, PoolAnswer, PortAnswer, SessionOpen,
                          SessionGone, Question, QuestionGone>;

}  // namespace native_runner::news
