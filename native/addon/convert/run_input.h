#pragma once

#include <napi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "addon/convert/fields.h"
#include "policy/options/environment.h"
#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "supervise/sandbox/port_waits.h"

namespace native_runner {

// `cols` and `rows`, each an integer from 1 to 65535 that must be given.
TerminalSize ReadTerminalSize(Fields& size);

// What a policy passes on of this process's own variables (environ(7)), worked out again only when
// one of them has changed. One a runner; main thread only, where JavaScript changes this very one.
class HostEnvironment {
 public:
  const std::vector<std::string>& PassedBy(const EnvironmentPolicy& policy);

 private:
  bool Unchanged() const;

  std::vector<std::string> seen_;  // environ as it was
  std::vector<std::string> passed_;
  bool known_ = false;
};

// What only JavaScript knows of a run; types/addon.d.ts's NativeContext.
struct RunContext {
  std::string policy_hash;
  bool is_aborted = false;
  std::optional<std::vector<Variable>>
      environment;  // the host's, where it is not environ (workers)
  std::optional<Napi::Function> on_connection;
  std::shared_ptr<const AdviceLists> advice;  // or none
};

RunContext ReadRunContext(Fields& context);

// What differs between the runners when an input is read.
struct InputRules {
  const EnvironmentPolicy* environment = nullptr;
  HostEnvironment* host = nullptr;
  std::string_view cwd_label;  // how messages about `cwd` start
  bool in_workspace = false;   // PWD is below /workspace; else it is only known when the run starts
};

// The input of exec or spawn, read and copied once. What comes back after a fault is not to be
// used.
struct RunInput {
  ExecRequest request;
  std::optional<Napi::Function> on_stdout;
  std::optional<Napi::Function> on_stderr;
  std::optional<Napi::Function> on_event;
};

RunInput ReadExecInput(Fields& input, const RunContext& context, const InputRules& rules);

// Of spawn: without a default deadline, and with `pty`.
RunInput ReadSpawnInput(Fields& input, const RunContext& context, const InputRules& rules);

// A port (an integer from 1 to 65535), and of the options timeoutMs (> 0, Infinity; default 30 000)
// and intervalMs (an integer from 1 on; default 50).
std::optional<PortWait> ReadPortWait(Reader& reader, const Napi::Value& port,
                                     const Napi::Value& options);

}  // namespace native_runner
