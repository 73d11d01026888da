#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/lease.h"
#include "policy/options/limits.h"
#include "policy/options/terminal_size.h"

namespace native_runner {

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
  std::vector<std::string> protected_names;  // what the host runs by itself (protected_path.h)
};

// What only a process that is spoken with while it runs has (spawn).
struct LiveRequest {
  std::optional<TerminalSize> terminal;  // none: three pipes
};

// One call of exec or spawn, read and copied from JavaScript once.
struct ExecRequest {
  std::vector<std::string> argv;               // argv[0] is never empty, no NUL bytes
  std::string cwd;                             // as the caller wrote it; see workspace_path.h
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
  bool may_stand = false;          // a sandbox that was made before will do
  std::uint64_t clones_of = 0;     // a clone of this pool's template will do; 0: of none
  bool makes_template = false;     // what is asked for is the template of such
  std::uint64_t submitted_ns = 0;  // when it was; 0: it waits for nothing
};

}  // namespace native_runner
