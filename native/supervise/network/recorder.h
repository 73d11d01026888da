#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/network/network_rules.h"

namespace native_runner {

enum class RecordEvent {
  kOpened,  // allowed, and connected to the host
  kEnded,   // closed; only for a record that was reported as kOpened
  kDenied,  // refused or failed; once for records that are merged
};
// Reports each entry of a command's record except those that are only counted. Called from within
// the methods of a SandboxNetwork, so it must not call back into it.
using OnRecord = std::function<void(RecordEvent, const ConnectionRecord&)>;

class Recorder;

// The record of an open connection. Its owner counts in `record`; destruction ends it. Recorder
// outlives it.
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
  std::map<std::uint64_t, std::size_t> places_;  // command -> index in that command's log
};

// The records of one sandbox. Each goes to all commands that run when it is made, at most
// kMostConnectionRecords per command. Supervisor thread only.
class Recorder {
 public:
  // `on_record` may be empty. `terminator_run`: the terminator's number of the run; 0: it has none.
  std::uint64_t Enter(std::vector<std::string> argv, OnRecord on_record,
                      std::uint64_t terminator_run = 0);
  ConnectionLog Leave(std::uint64_t command);

  // True while a command runs. Connections that can't be recorded are refused.
  bool has_commands() const { return !commands_.empty(); }
  bool is_only(std::uint64_t command) const {
    return commands_.size() == 1 && commands_.begin()->first == command;
  }
  // Returns the argv of the only command; empty if there are several.
  std::vector<std::string> argv() const;

  // Returns the terminator's number of the latest command: those of a session share it.
  std::uint64_t terminator_run() const {
    return commands_.empty() ? 0 : commands_.rbegin()->second.terminator_run;
  }

  // Records a denial or a failure; similar ones share one record.
  void Refused(const ConnectionRecord& record);
  // `started_ns`: time of acceptance, by uv_hrtime.
  std::unique_ptr<OpenRecord> Opened(ConnectionRecord record, std::uint64_t started_ns);

 private:
  friend class OpenRecord;
  struct Command {
    std::vector<std::string> argv;
    OnRecord on_record;
    std::uint64_t terminator_run = 0;
    ConnectionLog log;
    std::map<std::string, std::size_t> refused;  // key of similar records -> index in the log
  };

  static void ReportTo(const Command& command, RecordEvent event, const ConnectionRecord& record);
  void Write(const OpenRecord& open, std::uint64_t command, std::size_t place);
  void Ended(OpenRecord* open);

  std::map<std::uint64_t, Command> commands_;
  std::set<OpenRecord*> open_;
  std::uint64_t next_ = 0;
};

}  // namespace native_runner
