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
#include "policy/network/network_rules.h"
#include "policy/result.h"
#include "policy/run/outcome.h"
#include "protocol/layer.h"
#include "supervise/network/forward.h"
#include "supervise/sandbox/sandbox.h"
#include "supervise/streams/output.h"

namespace native_runner {

// The layers of a run, in the order in which they were set up, as its audit lists them, and the
// caller's options that opened some. A plain value.
class LayerRecord {
 public:
  LayerRecord() = default;
  LayerRecord(std::initializer_list<Layer> layers) : first_(layers) {}

  bool operator==(const LayerRecord&) const = default;
  bool IsEmpty() const { return first_.empty() && opened_.empty() && later_.empty(); }
  bool Has(Layer layer) const;

  // Adds the layers that are not in the record yet.
  void Add(Layer layer);
  void Add(std::span<const Layer> layers);
  void Add(const LayerRecord& others);
  void AddEnforced(LayerSet enforced);  // from the launcher's report
  void Remove(LayerSet layers);

  // Adds a caller's option, with its operands, that opens something.
  void AddOpened(std::string option) { opened_.push_back(std::move(option)); }

  // Returns "opened:OPTION" for each of these.
  std::vector<std::string> OpenedNames() const;

  // Returns the names as audits list them: layers, options, and the layers added after the options.
  std::vector<std::string> Names() const;

 private:
  std::vector<Layer> first_;
  std::vector<std::string> opened_;
  std::vector<Layer> later_;
};

struct StreamResult {
  Bytes bytes;
  std::uint64_t total = 0;  // bytes written in all
  bool truncated = false;
};

// A run's audit data besides its outcome.
struct RunRecord {
  std::string runtime;
  std::string cmd;
  std::vector<std::string> argv;
  std::optional<std::string> cwd;
  LayerRecord layers;
  std::size_t command_at = 0;  // index in argv where the command starts; the runtime's options
                               // precede it
  bool is_by_domain = false;   // the network is by domain: connections are recorded
};

// Returns true if a command can have no socket at all (Landlock, network denied).
inline bool ForbidsSockets(const RunRecord& record) {
  return record.layers.Has(Layer::kNoSockets);
}

// Makes a port of the host lead to one of a sandbox that its commands run in. `record`: of one of
// these.
ForwardAnswer OpenForward(Sandbox* sandbox, const RunRecord& record, const ForwardRequest& request);

// Tells if processes had to be killed at the end: by a deadline or an abort, or because the command
// left some behind. `kProved`: all are known to be gone.
enum class Kill { kNone, kProved, kUnproved };

// The state that a command in a shell session started with and left for the next one.
struct ShellReport {
  enum class State {
    kUnchanged,  // not a shell, or did not run: the next command starts from the same state
    kKept,       // the next command starts from this one's final state
    kLost,       // the final state could not be kept: the next command starts from the same state
  };
  State state = State::kUnchanged;
  std::string reason;          // kLost: the reason, as a clause
  std::string lost_directory;  // directory the command could not start in: it started in the
                               // workspace
};

// Complete result of one call of exec. With `rejection` there was no run, and all other fields are
// empty.
struct RunResult {
  std::optional<Error> rejection;
  Outcome outcome;
  StreamResult out;
  StreamResult err;
  Usage usage;
  double duration_ms = 0;
  double ended_ms = 0;  // when all its processes were gone, in milliseconds of the Unix epoch
  Timing timing;
  SandboxStart start = SandboxStart::kCold;
  std::string cold_reason;  // kCold: why it could not be a clone, if a clone was possible; else
                            // empty
  bool has_used_network = false;  // its network namespace was another clone's before
  Kill kill = Kill::kNone;
  RunRecord record;
  std::optional<ShellReport> shell;          // in a shell session
  std::optional<ConnectionLog> connections;  // with a network by domain
  std::vector<ForwardRecord> forwards;       // that were open meanwhile, a session's own too
  std::vector<Observation> observations;     // refused system calls, in order
  std::uint64_t observations_omitted = 0;    // number of further ones
  DenialLog denials;                         // the walls' denials, from these and other sources
};

}  // namespace native_runner
