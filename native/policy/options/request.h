#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "policy/options/home.h"

namespace native_runner {

// A lease that runs may depend on: they continue only while it is renewed in time. Once ended it
// can't be renewed. Any thread. Times are nanoseconds of one clock, which the user of this class
// chooses and reads.
class Lease {
 public:
  static constexpr std::uint64_t kMostMs = 2'147'483'647;  // 24.8 days

  Lease(std::uint64_t term_ms, std::uint64_t now_ns)
      : term_ms_(term_ms), until_ns_(now_ns + term_ns()) {}

  std::uint64_t term_ms() const { return term_ms_; }
  std::uint64_t until_ns() const { return until_ns_; }
  bool HasEnded(std::uint64_t now_ns) const { return now_ns >= until_ns_; }

  // Extends the lease by another term from now. Returns false if it had ended.
  bool Renew(std::uint64_t now_ns) {
    std::uint64_t until = until_ns_;
    while (now_ns < until) {
      const std::uint64_t later = now_ns + term_ns();
      if (later <= until || until_ns_.compare_exchange_weak(until, later)) return true;
    }
    return false;
  }

 private:
  std::uint64_t term_ns() const { return term_ms_ * 1'000'000; }

  std::uint64_t term_ms_;
  std::atomic<std::uint64_t> until_ns_;
};

enum class Keep { kHead, kHeadTail };

// The limits of one run, in bytes, seconds and milliseconds as the names say. An empty optional
// means "no limit". The supervisor enforces the byte caps, the deadline and the bounds
// of what is written, the launcher (setrlimit(2)) or a cgroup the rest.
struct Limits {
  std::uint64_t max_stdout_bytes = 1'048'576;
  std::uint64_t max_stderr_bytes = 1'048'576;
  std::optional<std::uint64_t> timeout_ms = 60'000;
  Keep keep = Keep::kHead;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint64_t> cpu_seconds;
  std::optional<std::uint64_t> max_processes;
  std::optional<std::uint64_t> max_open_files;
  std::optional<std::uint64_t> max_file_bytes;
  std::optional<std::uint64_t> cpu_share;      // cpu.weight, from 1 to kMostCpuShare
  std::optional<std::uint64_t> io_share;       // io.weight, from 1 to kMostIoShare
  std::optional<std::uint64_t> write_bytes;    // that a run may add to workspace, home and /tmp
  std::optional<std::uint64_t> reserve_bytes;  // of free space that stays on their file systems
};

inline constexpr std::uint64_t kMostCpuShare = 10'000;  // of cpu.weight
inline constexpr std::uint64_t kMostIoShare = 1'000;    // of io.bfq.weight, which is narrower

// The size of a terminal, in characters, each at least 1 (TIOCSWINSZ in ioctl_tty(2)).
struct TerminalSize {
  std::uint16_t columns = 0;
  std::uint16_t rows = 0;
};

// Which further refused system calls are reported, besides those that always are.
enum class Explain {
  kNo,
  kYes,
  kLookUps,  // also calls that only look for a file
};

// The host's paths that no grant may open, for advice about denials.
struct AdviceLists {
  std::vector<std::string> homes;            // of this user, real paths
  std::vector<std::string> secrets;          // absolute
  std::vector<std::string> protected_names;  // names that the host runs by itself (IsProtected)
};

// The purpose of a request. SessionSandbox and TemplateSandbox run no command of the caller's: of
// their requests only the shape of the sandbox matters.
struct ExecCall {};
struct SpawnCall {
  std::optional<TerminalSize> terminal;  // none: three pipes
  // Pipes of this process, which it keeps open until the run has ended: where the command's input
  // comes from, and where its stdout goes; -1: neither. Not with a terminal.
  int relayed_input = -1;
  int relayed_output = -1;
};
struct ExplainCall {};  // decides everything that exec does, and starts nothing
struct SessionSandbox {};
struct TemplateSandbox {};
using RequestKind = std::variant<ExecCall, SpawnCall, ExplainCall, SessionSandbox, TemplateSandbox>;

// A request for a sandbox; one of a call was read and copied from JavaScript once.
struct ExecRequest {
  RequestKind kind;
  std::vector<std::string> argv;               // argv[0] is never empty, no NUL bytes
  std::string cwd;                             // as the caller wrote it; see WorkspaceRelative
  std::vector<std::string> environment;        // "NAME=value", complete: nothing is added later
  std::vector<std::string> named_environment;  // of these, the variables that the call itself named
  std::vector<std::uint8_t> stdin_bytes;
  Limits limits;
  bool stream_stdout = false;
  bool stream_stderr = false;
  bool merge_stderr = false;                  // stderr goes where stdout does; not with a terminal
  bool is_aborted = false;                    // aborted before it began, so it must not start
  bool reports_connections = false;           // send an event when a connection opens or ends
  Explain explain = Explain::kNo;             // report which of its system calls were refused
  std::shared_ptr<const AdviceLists> advice;  // with explain; may be null
  std::shared_ptr<const HomeView> home;       // that `environment` fits; null: the runner's current
  std::shared_ptr<const Lease> lease;         // the run lasts while the lease does; may be null
  bool allow_prewarmed = false;               // a prewarmed sandbox may be used
  std::uint64_t terminator_run = 0;           // the terminator's number of the run; 0: it has none
  std::uint64_t clones_of = 0;     // a clone of this pool's template may be used; 0: none
  std::uint64_t submitted_ns = 0;  // when the call was made; 0: it waits for nothing

  template <typename Kind>
  bool Is() const {
    return std::holds_alternative<Kind>(kind);
  }
};

}  // namespace native_runner
