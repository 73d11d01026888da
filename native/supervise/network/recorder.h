#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/network/connections.h"
#include "supervise/network/sandbox_network.h"

namespace native_runner {

class Recorder;

// The record of a connection that is open. Its owner counts in `record`; when it goes without End,
// it ends. Recorder outlives it.
class OpenRecord {
 public:
  ~OpenRecord() { End(); }
  OpenRecord(const OpenRecord&) = delete;
  OpenRecord& operator=(const OpenRecord&) = delete;

  void End();

  ConnectionRecord record;

 private:
  friend class Recorder;
  OpenRecord(Recorder* recorder, ConnectionRecord opened, std::uint64_t started_ns)
      : record(std::move(opened)), recorder_(recorder), started_ns_(started_ns) {}

  Recorder* recorder_;
  std::uint64_t started_ns_;
  std::map<std::uint64_t, std::size_t> places_;  // by command, in its log
};

// The records of one sandbox: each goes to all commands that run when it is made. Bounded by
// kMostConnectionRecords a command. Supervisor thread only.
class Recorder {
 public:
  // `on_record`: see SandboxNetwork; or none.
  std::uint64_t Enter(std::vector<std::string> argv, SandboxNetwork::OnRecord on_record);
  ConnectionLog Leave(std::uint64_t command);

  // Whether a command runs: what can't be recorded is refused.
  bool has_commands() const { return !commands_.empty(); }
  bool is_only(std::uint64_t command) const {
    return commands_.size() == 1 && commands_.begin()->first == command;
  }
  // Of the only command; empty where there are several.
  std::vector<std::string> argv() const;

  // A denial or a failure: one record with those alike.
  void Refused(const ConnectionRecord& record);
  // `started_ns`: when it was accepted, by uv_hrtime.
  std::unique_ptr<OpenRecord> Opened(ConnectionRecord record, std::uint64_t started_ns);

 private:
  friend class OpenRecord;
  struct Command {
    std::vector<std::string> argv;
    SandboxNetwork::OnRecord on_record;
    ConnectionLog log;
    std::map<std::string, std::size_t> refused;  // by what they have in common, in the log
  };

  static void Tell(const Command& command, SandboxNetwork::RecordEvent event,
                   const ConnectionRecord& record);
  void Write(const OpenRecord& open, std::uint64_t command, std::size_t place);
  void Ended(OpenRecord* open);

  std::map<std::uint64_t, Command> commands_;
  std::set<OpenRecord*> open_;
  std::uint64_t next_ = 0;
};

}  // namespace native_runner
