#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/options/policy.h"
#include "policy/options/request.h"
#include "supervise/backends/bubblewrap_backend.h"
#include "supervise/backends/launcher_backends.h"
#include "tests/support/slow.h"

namespace native_runner {

inline std::string LauncherPath() {
  const char* chosen = std::getenv("NATIVE_RUNNER_LAUNCHER");
  return chosen != nullptr ? chosen : NATIVE_RUNNER_LAUNCHER;
}

inline std::string HostPath() {
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/usr/bin:/bin";
}

inline ExecRequest CommandRequest(std::vector<std::string> argv) {
  ExecRequest request;
  request.argv = std::move(argv);
  request.environment = {"PATH=/usr/bin:/bin"};
  request.limits.timeout_ms = Slow(30'000);  // a test that hangs is to fail by itself
  return request;
}

inline ExecRequest ShellRequest(std::string script) {
  return CommandRequest({"/bin/sh", "-c", std::move(script)});
}

inline std::shared_ptr<const Backend> Local(const std::string& workspace) {
  return std::make_shared<LocalBackend>(LocalPolicy{workspace, {}});
}

inline BubblewrapPolicy SandboxPolicy(const std::string& workspace,
                                      Isolation isolation = Isolation::kStrict) {
  BubblewrapPolicy policy;
  policy.shadow_dir = workspace;
  policy.ro_binds = DefaultRoBinds();
  policy.isolation = isolation;
  return policy;
}

inline std::shared_ptr<const Backend> Sandboxed(const std::string& workspace,
                                                Isolation isolation = Isolation::kStrict) {
  return std::make_shared<BubblewrapBackend>(SandboxPolicy(workspace, isolation));
}

}  // namespace native_runner
