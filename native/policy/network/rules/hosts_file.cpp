#include "policy/network/rules/hosts_file.h"

#include <algorithm>
#include <optional>

#include "policy/network/address/ip_parse.h"
#include "policy/network/name/host_name.h"

namespace native_runner {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// The next word, which is taken from `line`; empty: there is none.
std::string_view TakeWord(std::string_view* line) {
  line->remove_prefix(std::min(line->find_first_not_of(kBlanks), line->size()));
  const std::string_view word = line->substr(0, line->find_first_of(kBlanks));
  line->remove_prefix(word.size());
  return word;
}

// 127.0.0.0/16, which names allowed in a sandbox never get; ::1; and the groups that Debian lists
// (ff02::1), to which nothing can connect.
bool IsHarmless(const IpAddress& address) {
  const auto bytes = address.bytes();
  if (address.is_v4()) return bytes[0] == 127 && bytes[1] == 0;
  const bool is_loopback = bytes.back() == 1 && std::all_of(bytes.begin(), bytes.end() - 1,
                                                            [](auto byte) { return byte == 0; });
  return is_loopback || bytes[0] == 0xff || (bytes[0] == 0xfe && bytes[1] == 0);
}

bool IsAllowed(const NetworkRules& rules, std::string_view word) {
  const auto name = ParseHostName(word);
  if (!name) return false;  // the resolver would not be asked for it either
  return std::any_of(rules.allow.begin(), rules.allow.end(),
                     [&name](const HostRule& rule) { return rule.pattern.Matches(name.value()); });
}

}  // namespace

bool NamesOnlyLoopback(std::string_view hosts_file, const NetworkRules& rules) {
  bool has_localhost = false;
  while (!hosts_file.empty()) {
    std::string_view line = hosts_file.substr(0, hosts_file.find('\n'));
    hosts_file.remove_prefix(std::min(line.size() + 1, hosts_file.size()));
    line = line.substr(0, line.find('#'));
    const std::string_view first = TakeWord(&line);
    if (first.empty()) continue;
    const auto address = ParsePlainIpAddress(first);
    if (!address || !IsHarmless(*address)) return false;
    for (std::string_view word = TakeWord(&line); !word.empty(); word = TakeWord(&line)) {
      if (IsAllowed(rules, word)) return false;
      has_localhost |= word == "localhost" && address->is_v4();
    }
  }
  return has_localhost;
}

}  // namespace native_runner
