#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "addon/convert/fields.h"
#include "policy/options/environment.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "supervise/network/forward.h"
#include "supervise/sandbox/port_waits.h"
#include "workspace/files/directory_entries.h"
#include "workspace/files/workspace_files.h"

namespace native_runner {

// Reads `cols` and `rows`, required integers from 1 to 65535.
TerminalSize ReadTerminalSize(Fields& size);

// The variables of this process (environ(7)) that a policy passes on, computed again only when one
// of them has changed. One per runner; main thread only, whose JavaScript changes this environ.
class HostEnvironment {
 public:
  // `view`: what the variables have to fit, or null.
  const std::vector<std::string>& PassedBy(const EnvironmentPolicy& policy,
                                           const std::shared_ptr<const HomeView>& view);

 private:
  bool Unchanged() const;

  std::vector<std::string> seen_;  // environ as last seen
  std::vector<std::string> passed_;
  std::shared_ptr<const HomeView> view_;
  bool known_ = false;
};

// The part of a run that only JavaScript knows; NativeContext in types/addon.d.ts.
struct RunContext {
  std::string policy_hash;
  bool is_aborted = false;
  std::optional<std::vector<Variable>> environment;  // the host's, if it is not environ (workers)
  std::optional<Napi::Function> on_connection;
  std::uint64_t terminator_run = 0;           // see ExecRequest
  std::shared_ptr<const AdviceLists> advice;  // may be nullptr
};

RunContext ReadRunContext(Fields& context);

// The differences between runners when an input is read.
struct InputRules {
  const EnvironmentPolicy* environment = nullptr;
  HostEnvironment* host = nullptr;
  const CurrentHome* shown = nullptr;  // null: neither home nor tools
  std::string_view cwd_label;          // start of messages about `cwd`
  std::string workspace;  // where commands see it; empty: that is known only when the run starts
};

// The input of exec or spawn, read and copied once. Must not be used after a fault.
struct RunInput {
  ExecRequest request;
  std::optional<Napi::Function> on_stdout;
  std::optional<Napi::Function> on_stderr;
  std::optional<Napi::Function> on_event;
};

RunInput ReadExecInput(Fields& input, const RunContext& context, const InputRules& rules);

// Reads the input of spawn: without a default deadline, and with `pty`.
RunInput ReadSpawnInput(Fields& input, const RunContext& context, const InputRules& rules);

// Reads a port (an integer from 1 to 65535), and the options timeoutMs (> 0, Infinity; default 30
// 000) and intervalMs (an integer from 1 on; default 50). nullopt after a fault.
// Reads a port of a sandbox and `{ host, hostPort }`.
std::optional<ForwardRequest> ReadForward(Reader& reader, const Napi::Value& port,
                                          const Napi::Value& options);
std::optional<PortWait> ReadPortWait(Reader& reader, const Napi::Value& port,
                                     const Napi::Value& options);

// A path argument of a file operation.
struct PathInput {
  std::string given;     // for messages
  std::string relative;  // normalised; below the workspace
};

// The argument `field` of the method `call`, for messages, and where commands see the workspace.
struct PathArgument {
  const char* call;
  const char* field;
  const std::string& workspace;
};

// Reads a string or, for names that are not UTF-8, a Uint8Array, in the forms of `cwd`.
PathInput ReadPath(Reader& reader, const Napi::Value& value, const PathArgument& argument);

// Reads and copies content: a Uint8Array, or a string as UTF-8.
std::vector<std::uint8_t> ReadData(Reader& reader, const Napi::Value& value);

// Read the fields of one call's options.
std::uint64_t ReadMaxBytes(Fields& options);  // maxBytes: 0 to 2^31-1, default 64 MiB
WriteRule ReadWriteRule(Fields& options);     // mode, ifUnchanged (string or null), flush
ListRule ReadListRule(Fields& options);       // recursive, maxEntries: 1 to 2^24, default 10 000
MakeRule ReadMakeRule(Fields& options);       // recursive, mode
bool ReadRecursive(Fields& options);

// Reads shadowDir, read and write; and workspacePath: where commands see the workspace.
WorkspaceRights ReadWorkspaceRights(Fields& options, std::string* workspace);

// Reads workspacePath: /workspace, or the workspace's own path on the host.
std::string ReadWorkspacePath(Fields& options, const std::string& directory);

}  // namespace native_runner
