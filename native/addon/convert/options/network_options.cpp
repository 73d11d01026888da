#include "addon/convert/options/network_options.h"

#include <string>
#include <utility>

#include "addon/convert/options/shared_options.h"

namespace native_runner {
namespace {

std::shared_ptr<const NetworkPolicy> ReadRules(Fields& network) {
  NetworkRuleTexts texts;
  texts.allow = network.RequiredStrings("allow");
  texts.deny = ReadStrings(network, "deny");
  texts.allow_private = ReadStrings(network, "allowPrivate");
  texts.asks = network.Function("onRequest").has_value();
  if (network.reader().failed()) return nullptr;
  auto rules = ReadNetworkRules(texts);
  if (!rules) {
    network.reader().Fail(rules.error());
    return nullptr;
  }
  return std::make_shared<const NetworkPolicy>(
      NetworkPolicy{.rules = std::move(rules.value()), .asker = 0});
}

}  // namespace

NetworkChoice ReadNetworkChoice(Fields& options) {
  NetworkChoice choice;
  const auto value = options.Value("network");
  if (!value) return choice;
  if (value->IsObject() && !value->IsArray() && !value->IsFunction()) {
    choice.network = Network::kByDomain;
    options.Object("network",
                   [&choice](Fields& network) { choice.by_domain = ReadRules(network); });
    return choice;
  }
  const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
  if (text == "allow") {
    choice.network = Network::kAllow;
  } else if (text != "deny") {
    options.Fail("network", ErrorCode::kInvalidValue,
                 R"("allow", "deny" or an object with what to `allow`)", *value);
  }
  return choice;
}

std::optional<Napi::Function> ReadOnRequest(Fields& options) {
  const auto value = options.Value("network");
  if (!value || !value->IsObject()) return std::nullopt;
  const Napi::Value asked = value->As<Napi::Object>().Get("onRequest");
  if (options.reader().Lost(asked) || !asked.IsFunction()) return std::nullopt;
  return asked.As<Napi::Function>();
}

}  // namespace native_runner
