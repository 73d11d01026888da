#include "addon/convert/input/run_context.h"

#include <utility>

namespace native_runner {
namespace {

std::shared_ptr<const AdviceLists> ReadAdvice(Fields& context) {
  std::shared_ptr<const AdviceLists> read;
  context.Object("advice", [&read](Fields& lists) {
    AdviceLists made{
        .homes = lists.Strings("homes").value_or(std::vector<std::string>()),
        .secrets = lists.Strings("secrets").value_or(std::vector<std::string>()),
        .protected_names = lists.Strings("protectedNames").value_or(std::vector<std::string>())};
    if (lists.given()) read = std::make_shared<const AdviceLists>(std::move(made));
  });
  return read;
}

}  // namespace

RunContext ReadRunContext(Fields& context) {
  return {
      .policy_hash = context.String("policyHash").value_or(""),
      .is_aborted = context.Boolean("isAborted").value_or(false),
      .environment = context.Variables("environment"),
      .on_connection = context.Function("onConnection"),
      .advice = ReadAdvice(context),
  };
}

}  // namespace native_runner
