#include "addon/convert/options/argv_options.h"

#include "addon/convert/options/policy_options.h"
#include "policy/options/validate.h"
#include "policy/options/workspace_path.h"

namespace native_runner {

ArgvOptions ReadArgvOptions(Fields& options) {
  ArgvOptions read;
  read.policy = ReadBubblewrapPolicy(options);
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
