#include "addon/convert/input/run_context.h"

namespace native_runner {

RunContext ReadRunContext(Fields& context) {
  return {
      .policy_hash = context.String("policyHash").value_or(""),
      .is_aborted = context.Boolean("isAborted").value_or(false),
      .environment = context.Variables("environment"),
      .on_connection = context.Function("onConnection"),
  };
}

}  // namespace native_runner
