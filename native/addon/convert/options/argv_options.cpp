#include "addon/convert/options/argv_options.h"

#include <utility>

#include "addon/convert/options/shared_options.h"
#include "policy/options/validate.h"
#include "policy/options/workspace_path.h"

namespace native_runner {

ArgvOptions ReadArgvOptions(Fields& options) {
  ArgvOptions read;
  read.policy.bwrap_path = options.String("bwrapPath").value_or(read.policy.bwrap_path);
  read.policy.shadow_dir = options.RequiredString("shadowDir");
  read.policy.network = ReadNetwork(options, Network::kDeny);
  ReadRoBinds(options, read.policy);
  read.policy = Checked(options, std::move(read.policy));
  read.command = options.RequiredStrings("commandArgv");
  if (!options.reader().failed()) options.reader().FailIf(CheckArgv(read.command));
  const auto cwd = options.String("cwd").value_or("");
  if (options.reader().failed()) return read;
  const auto relative = WorkspaceRelative(cwd, "buildBubblewrapArgv");
  if (relative) {
    read.cwd = JoinPath(kWorkspace, relative.value());
  } else {
    options.reader().Fail(relative.error());
  }
  return read;
}

}  // namespace native_runner
