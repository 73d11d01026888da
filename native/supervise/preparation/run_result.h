#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/denials/denial.h"
#include "policy/denials/observation.h"
#include "policy/network/record/connection_record.h"
#include "policy/outcome/outcome.h"
#include "policy/outcome/timing.h"
#include "policy/result.h"
#include "supervise/preparation/layer_record.h"
#include "supervise/sandbox/sandbox_start.h"
#include "supervise/streams/output_buffer.h"

namespace native_runner {

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
