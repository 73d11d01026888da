#include "addon/convert/options/process_sandbox_options.h"

#include <string>
#include <utility>
#include <vector>

#include "addon/convert/options/shared_options.h"
#include "policy/options/validate.h"

namespace native_runner {
namespace {

HostMount ReadMount(Fields& fields) {
  HostMount mount;
  fields.RequiredOneOf("kind", {"dir"});
  mount.label = fields.String("label");
  mount.host_path = fields.RequiredString("hostPath");
  mount.guest_path = fields.RequiredString("guestPath");
  mount.writable = fields.RequiredOneOf("mode", {"rw", "ro"}) == 0;
  return mount;
}

}  // namespace

ProcessSandboxPolicy ReadProcessSandboxPolicy(Fields& options) {
  ProcessSandboxPolicy policy;
  BubblewrapPolicy& sandbox = policy.sandbox;
  sandbox.bwrap_path = options.String("bwrapPath").value_or(sandbox.bwrap_path);
  sandbox.proc_path = options.String("procPath").value_or(sandbox.proc_path);
  sandbox.dev_path = options.String("devPath").value_or(sandbox.dev_path);
  sandbox.tmp_path = options.String("tmpPath").value_or(sandbox.tmp_path);
  policy.cwd_label = options.String("defaultCwdLabel").value_or(policy.cwd_label);
  ReadRoBinds(options, sandbox);
  sandbox.network = ReadNetwork(options, Network::kAllow);
  sandbox.isolation = ReadIsolation(options);
  return Checked(options, std::move(policy));
}

ProcessCommand ReadProcessCommand(Fields& fields) {
  ProcessCommand command;
  command.cmd = fields.RequiredString("cmd");
  command.args = fields.RequiredStrings("args");
  fields.Objects("mounts",
                 [&command](Fields& mount) { command.mounts.push_back(ReadMount(mount)); });
  // They pass through untouched, but what nothing can be started with is said here.
  const auto env = fields.Variables("env").value_or(std::vector<Variable>());
  for (const Variable& variable : env)
    fields.reader().FailIf(CheckVariable(variable));
  fields.String("cwd");
  if (!fields.reader().failed()) fields.reader().FailIf(CheckCommand(command));
  return command;
}

}  // namespace native_runner
