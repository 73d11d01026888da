#include "policy/network/rules/network_rules.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace native_runner {
namespace {

template <typename Rule>
std::optional<Error> ReadList(const std::vector<std::string>& texts, std::string_view field,
                              Result<Rule> (*read)(std::string_view, std::string_view),
                              std::vector<Rule>* rules) {
  if (texts.size() > kMostRules) {
    return Error{.code = ErrorCode::kOutOfRange,
                 .message = "Expected `" + std::string(field) + "` to have at most " +
                            std::to_string(kMostRules) + " entries, got " +
                            std::to_string(texts.size()),
                 .fix = ""};
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto rule = read(texts[i], std::string(field) + "[" + std::to_string(i) + "]");
    if (!rule) return rule.error();
    rules->push_back(std::move(rule.value()));
  }
  return std::nullopt;
}

// As many entries as ports, so that "a" and "a:80", "a:443" are one text.
void AddTexts(const std::vector<HostRule>& rules, std::string_view list, bool has_default_ports,
              std::set<std::string>* lines) {
  for (const HostRule& rule : rules) {
    const std::string begin = std::string(list) + " ";
    if (rule.port || !has_default_ports) {
      lines->insert(begin + rule.text());
      continue;
    }
    for (const std::uint16_t port : kDefaultPorts)
      lines->insert(begin + HostRule{.pattern = rule.pattern, .port = port}.text());
  }
}

}  // namespace

Result<NetworkRules> ReadNetworkRules(const NetworkRuleTexts& texts) {
  NetworkRules rules;
  rules.asks = texts.asks;
  auto error = ReadList(texts.allow, "network.allow", ReadHostRule, &rules.allow);
  if (!error) error = ReadList(texts.deny, "network.deny", ReadHostRule, &rules.deny);
  if (!error) {
    error = ReadList(texts.allow_private, "network.allowPrivate", ReadPrivateRule,
                     &rules.allow_private);
  }
  if (error) return *std::move(error);
  const std::size_t ports = PortsOf(rules).size();
  if (ports > kMostPorts) {
    return Error{.code = ErrorCode::kOutOfRange,
                 .message = "Expected `network.allow` to name at most " +
                            std::to_string(kMostPorts) + " ports, got " + std::to_string(ports),
                 .fix = ""};
  }
  return rules;
}

std::vector<std::uint16_t> PortsOf(const NetworkRules& rules) {
  std::set<std::uint16_t> ports;
  bool has_default_ports = rules.asks;
  for (const HostRule& rule : rules.allow) {
    if (rule.port) ports.insert(*rule.port);
    has_default_ports = has_default_ports || !rule.port;
  }
  if (has_default_ports) ports.insert(kDefaultPorts.begin(), kDefaultPorts.end());
  return {ports.begin(), ports.end()};
}

std::string NetworkRulesText(const NetworkRules& rules) {
  std::set<std::string> lines;
  AddTexts(rules.allow, "allow", true, &lines);
  AddTexts(rules.deny, "deny", false, &lines);
  for (const PrivateRule& rule : rules.allow_private)
    lines.insert("allowPrivate " + rule.text());
  if (rules.asks) lines.insert("asks");
  std::string text;
  for (const std::string& line : lines)
    text += line + "\n";
  return text;
}

}  // namespace native_runner
