#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace native_runner {

// What runs may be given: they go on only for as long as somebody says in time that they are still
// wanted. Once its end has passed it stays so. Any thread; times are nanoseconds of one clock,
// which is for whoever uses it to choose, and to read.
class Lease {
 public:
  static constexpr std::uint64_t kMostMs = 2'147'483'647;  // 24.8 days

  Lease(std::uint64_t term_ms, std::uint64_t now_ns)
      : term_ms_(term_ms), until_ns_(now_ns + term_ns()) {}

  std::uint64_t term_ms() const { return term_ms_; }
  std::uint64_t until_ns() const { return until_ns_; }
  bool HasEnded(std::uint64_t now_ns) const { return now_ns >= until_ns_; }

  // From now on for another term. False: it had ended.
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

// What one run may use. Bytes, seconds and milliseconds as the names say; an empty optional means
// "no limit". The byte caps and the deadline are kept by the supervisor, the rest by the launcher
// (setrlimit(2)) or a cgroup.
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
};

// Of a terminal, in characters; each from 1 on (TIOCSWINSZ in ioctl_tty(2)).
struct TerminalSize {
  std::uint16_t columns = 0;
  std::uint16_t rows = 0;
};

// Which refused system calls are told of besides those that are told of always.
enum class Explain {
  kNo,
  kYes,
  kLookUps,  // those that only look for a file among them
};

// Of the host, for who explains what a command was denied: what no grant is to open.
struct AdviceLists {
  std::vector<std::string> homes;            // of this user, real paths
  std::vector<std::string> secrets;          // absolute
  std::vector<std::string> protected_names;  // what the host runs by itself (IsProtected)
};

// What only a process that is spoken with while it runs has (spawn).
struct LiveRequest {
  std::optional<TerminalSize> terminal;  // none: three pipes
};

// One call of exec or spawn, read and copied from JavaScript once.
struct ExecRequest {
  std::vector<std::string> argv;               // argv[0] is never empty, no NUL bytes
  std::string cwd;                             // as the caller wrote it; see WorkspaceRelative
  std::vector<std::string> environment;        // "NAME=value", complete: nothing is added later
  std::vector<std::string> named_environment;  // of these, what the call itself named
  std::vector<std::uint8_t> stdin_bytes;
  Limits limits;
  bool stream_stdout = false;
  bool stream_stderr = false;
  bool merge_stderr = false;                  // stderr goes where stdout does; not with a terminal
  bool is_aborted = false;                    // before it began: it is not to start
  bool opens_session = false;                 // what is asked for is the sandbox of a session
  bool tells_connections = false;             // somebody wants to hear of each as it opens and ends
  bool plan_only = false;                     // decide everything, start nothing
  Explain explain = Explain::kNo;             // tell which of its system calls were refused
  std::shared_ptr<const AdviceLists> advice;  // with explain; or none
  std::shared_ptr<const Lease> lease;         // it runs for as long as this holds; or none
  std::optional<LiveRequest> live;
  bool allow_prewarmed = false;    // a sandbox that was made before will do
  std::uint64_t clones_of = 0;     // a clone of this pool's template will do; 0: of none
  bool makes_template = false;     // what is asked for is the template of such
  std::uint64_t submitted_ns = 0;  // when it was; 0: it waits for nothing
};

}  // namespace native_runner
