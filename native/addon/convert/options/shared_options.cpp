#include "addon/convert/options/shared_options.h"

#include <utility>

namespace native_runner {

Network ReadNetwork(Fields& options, Network fallback) {
  const auto value = options.Value("network");
  if (value && value->IsObject()) {  // never an open network, nor less than was asked for
    options.Fail(
        "network", ErrorCode::kInvalidValue,
        R"("allow" or "deny" (by domain it is with BubblewrapNativeRunner and Bwrap only))",
        *value);
    return Network::kDeny;
  }
  const auto chosen = options.OneOf("network", {"allow", "deny"});
  if (!chosen) return fallback;
  return *chosen == 0 ? Network::kAllow : Network::kDeny;
}

Isolation ReadIsolation(Fields& options) {
  return options.OneOf("isolation", {"strict", "compat"}) == 1 ? Isolation::kCompat
                                                               : Isolation::kStrict;
}

EnvironmentPolicy ReadEnvironmentPolicy(Fields& options) {
  EnvironmentPolicy policy;
  const auto value = options.Value("envPolicy");
  if (!value) return policy;
  if (value->IsArray()) {
    policy.mode = EnvironmentPolicy::Mode::kNames;
    policy.names = ReadStrings(options, "envPolicy");
    return policy;
  }
  const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
  if (text == "scrub") return policy;
  if (text == "inherit") {
    policy.mode = EnvironmentPolicy::Mode::kInherit;
  } else if (text == "clean") {
    policy.mode = EnvironmentPolicy::Mode::kClean;
  } else {
    options.Fail("envPolicy", ErrorCode::kInvalidValue,
                 "\"scrub\", \"inherit\", \"clean\" or an array of variable names", *value);
  }
  return policy;
}

void ReadRoBinds(Fields& options, BubblewrapPolicy& policy) {
  auto named = options.Strings("roBinds");
  policy.ro_binds_named = named.has_value();
  policy.ro_binds = std::move(named).value_or(DefaultRoBinds());
}

std::vector<std::string> ReadStrings(Fields& options, const char* key) {
  return options.Strings(key).value_or(std::vector<std::string>());
}

}  // namespace native_runner
