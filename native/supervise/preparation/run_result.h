#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/denials/denials.h"
#include "policy/denials/observation.h"
#include "policy/network/connections.h"
#include "policy/result.h"
#include "policy/run/outcome.h"
#include "protocol/layer.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/output_buffer.h"

namespace native_runner {

// The layers of a run, in the order in which they were put up, as its audit lists them; and the
// caller's own options that opened some. A plain value.
class LayerRecord {
 public:
  LayerRecord() = default;
  LayerRecord(std::initializer_list<Layer> layers) : first_(layers) {}

  bool operator==(const LayerRecord&) const = default;
  bool IsEmpty() const { return first_.empty() && opened_.empty() && later_.empty(); }
  bool Has(Layer layer) const;

  // Adds what is not there yet.
  void Add(Layer layer);
  void Add(std::span<const Layer> layers);
  void Add(const LayerRecord& others);
  void AddEnforced(LayerSet enforced);  // of the launcher's report
  void Remove(LayerSet layers);

  // An option of the caller's, with its operands, that opens something.
  void AddOpened(std::string option) { opened_.push_back(std::move(option)); }

  // "opened:OPTION" for each of these.
  std::vector<std::string> OpenedNames() const;

  // As in audits: layers, options, and the layers that were added after those.
  std::vector<std::string> Names() const;

 private:
  std::vector<Layer> first_;
  std::vector<std::string> opened_;
  std::vector<Layer> later_;
};

struct StreamResult {
  Bytes bytes;
  std::uint64_t total = 0;  // all that was written
  bool truncated = false;
};

// What the audit of a run records besides its outcome.
struct RunRecord {
  std::string runtime;
  std::string cmd;
  std::vector<std::string> argv;
  std::optional<std::string> cwd;
  LayerRecord layers;
  std::size_t command_at = 0;  // where the command starts in argv; before it, the runtime's options
  bool is_by_domain = false;   // its network: what it connected to is recorded
};

// Whether a command can have no socket at all (Landlock, network denied).
inline bool ForbidsSockets(const RunRecord& record) {
  return record.layers.Has(Layer::kNoSockets);
}

// Whether processes had to be killed in the end: by a deadline or an abort, or because the command
// left some behind. `kProved`: all are known to be gone.
enum class Kill { kNone, kProved, kUnproved };

// What a command in a shell session took on and handed on.
struct ShellReport {
  enum class State {
    kUnchanged,  // it is no shell, or did not run: the next starts as it did
    kKept,       // the next command starts with what it left
    kLost,       // it left something that could not be kept: the next starts as it did
  };
  State state = State::kUnchanged;
  std::string reason;          // kLost: why, as a clause
  std::string lost_directory;  // where it was to start and could not: it started in the workspace
};

// All that became of one call of exec. With `rejection` there was no run: everything else is empty.
struct RunResult {
  std::optional<Error> rejection;
  Outcome outcome;
  StreamResult out;
  StreamResult err;
  Usage usage;
  double duration_ms = 0;
  Timing timing;
  SandboxStart start = SandboxStart::kCold;
  std::string cold_reason;  // kCold, where it could have been a clone but for this; else empty
  Kill kill = Kill::kNone;
  RunRecord record;
  std::optional<ShellReport> shell;          // in a shell session
  std::optional<ConnectionLog> connections;  // with a network by domain
  std::vector<Observation> observations;     // what its system calls were refused, in order
  std::uint64_t observations_omitted = 0;    // how many more there were
  DenialLog denials;                         // what of that, and of the rest, its walls refused
};

}  // namespace native_runner
