#include "supervise/network/recorder.h"

#include <uv.h>

namespace native_runner {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
constexpr double kNsInMs = 1e6;

std::string KeyOf(const ConnectionRecord& record) {
  std::string key = record.host;
  for (const std::string* part : {&record.address, &record.rule, &record.reason}) {
    key += '\0';
    key += *part;
  }
  key += '\0' + std::to_string(record.port) + (record.allowed ? "+" : "-");
  return key + ConnectionViaName(record.via);
}

}  // namespace

void OpenRecord::End() {
  if (recorder_ != nullptr) std::exchange(recorder_, nullptr)->Ended(this);
}

std::uint64_t Recorder::Enter(std::vector<std::string> argv, OnRecord on_record,
                              std::uint64_t terminator_run) {
  Command command;
  command.argv = std::move(argv);
  command.on_record = std::move(on_record);
  command.terminator_run = terminator_run;
  commands_.emplace(++next_, std::move(command));
  return next_;
}

ConnectionLog Recorder::Leave(std::uint64_t command) {
  const auto found = commands_.find(command);
  if (found == commands_.end()) return {};
  for (OpenRecord* open : open_) {
    const auto place = open->places_.find(command);
    if (place == open->places_.end()) continue;
    Write(*open, command, place->second);
    open->places_.erase(place);
  }
  ConnectionLog log = std::move(found->second.log);
  commands_.erase(found);
  return log;
}

std::vector<std::string> Recorder::argv() const {
  return commands_.size() == 1 ? commands_.begin()->second.argv : std::vector<std::string>{};
}

void Recorder::Refused(const ConnectionRecord& record) {
  for (auto& [_, command] : commands_) {
    auto& connections = command.log.connections;
    const std::string key = KeyOf(record);
    const auto alike = command.refused.find(key);
    if (alike != command.refused.end()) {
      ++connections[alike->second].count;
    } else if (connections.size() < kMostConnectionRecords) {
      command.refused.emplace(key, connections.size());
      connections.push_back(record);
      ReportTo(command, RecordEvent::kDenied, record);
    } else {
      ++command.log.omitted;
    }
  }
}

std::unique_ptr<OpenRecord> Recorder::Opened(ConnectionRecord record, std::uint64_t started_ns) {
  std::unique_ptr<OpenRecord> open(new OpenRecord(this, std::move(record), started_ns));
  for (auto& [number, command] : commands_) {
    auto& connections = command.log.connections;
    const bool has_place = connections.size() < kMostConnectionRecords;
    open->places_.emplace(number, has_place ? connections.size() : kNowhere);
    if (has_place) {
      connections.push_back(open->record);
      ReportTo(command, RecordEvent::kOpened, open->record);
    } else {
      ++command.log.omitted;
    }
  }
  open_.insert(open.get());
  return open;
}

void Recorder::ReportTo(const Command& command, RecordEvent event, const ConnectionRecord& record) {
  if (command.on_record) command.on_record(event, record);
}

void Recorder::Write(const OpenRecord& open, std::uint64_t command, std::size_t place) {
  ConnectionRecord record = open.record;
  record.duration_ms = static_cast<double>(uv_hrtime() - open.started_ns_) / kNsInMs;
  const auto found = commands_.find(command);
  if (found == commands_.end() || place == kNowhere) return;
  ReportTo(found->second, RecordEvent::kEnded, record);
  found->second.log.connections[place] = std::move(record);
}

void Recorder::Ended(OpenRecord* open) {
  open_.erase(open);
  for (const auto& [command, place] : open->places_)
    Write(*open, command, place);
}

}  // namespace native_runner
