#include "policy/denials/network_denials.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "policy/denials/error_name.h"
#include "policy/network/record/connection_record.h"

namespace native_runner {
namespace {

constexpr std::string_view kOfAuthorities =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:@";
constexpr std::uint16_t kDnsPort = 53;
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

bool IsName(std::string_view host) {
  const std::string_view last = host.substr(host.rfind('.') + 1);
  const bool has_letter = std::any_of(last.begin(), last.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  });
  return has_letter && host.find(':') == std::string_view::npos;
}

bool IsLoopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

Grant AllowHost(const std::string& host, std::uint16_t port) {
  const bool is_usual = port == 0 || port == kHttpPort || port == kHttpsPort;
  return {.kind = Grant::Kind::kList,
          .option = "network.allow",
          .text = is_usual ? host : host + ":" + std::to_string(port)};
}

struct NamedHost {
  std::string host;
  std::uint16_t port = 0;
};

// Of the first URL in the command line.
NamedHost HostInWords(const std::vector<std::string>& argv) {
  for (const std::string& word : argv) {
    const std::size_t at = word.find("://");
    if (at == std::string::npos || at == 0) continue;
    std::string_view rest = std::string_view(word).substr(at + 3);
    rest = rest.substr(0, rest.find_first_not_of(kOfAuthorities));
    rest.remove_prefix(rest.find('@') == std::string_view::npos ? 0 : rest.find('@') + 1);
    const std::size_t colon = rest.find(':');
    NamedHost named{std::string(rest.substr(0, colon)), 0};
    unsigned port = 0;
    if (colon != std::string_view::npos) {
      for (const char digit : rest.substr(colon + 1)) {
        if (digit < '0' || digit > '9' || port > 65535) return {};
        port = port * 10 + static_cast<unsigned>(digit - '0');
      }
    }
    named.port = static_cast<std::uint16_t>(port);
    if (IsName(named.host) && port <= 65535) return named;
  }
  return {};
}

bool HasWord(const std::vector<std::string>& argv, std::string_view word) {
  constexpr std::string_view kBetween = " \t\n;&|'\"()";
  return std::any_of(argv.begin(), argv.end(), [word, kBetween](std::string_view text) {
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      const bool begins = at == 0 || kBetween.find(text[at - 1]) != std::string_view::npos;
      if (begins && (end == text.size() || kBetween.find(text[end]) != std::string_view::npos))
        return true;
    }
    return false;
  });
}

// Whatever npm is told to do, it looks for a newer npm, and does without the answer; and the C
// library asks the host's servers for "localhost" too.
bool IsNewsOrLocal(const std::string& program, const std::vector<std::string>& argv) {
  const auto has = [&argv](std::string_view word) { return HasWord(argv, word); };
  if (has("localhost")) return true;
  constexpr std::array<std::string_view, 14> kFetching = {
      "install", "ci",   "i",    "add",     "update", "upgrade", "exec",
      "audit",   "view", "info", "publish", "search", "ping",    "outdated"};
  return program.starts_with("npm") && std::none_of(kFetching.begin(), kFetching.end(), has);
}

Denial ModeDenied(const Observation& observation, DeniedBy by) {
  Denial denial;
  denial.kind = "connect";
  denial.operation = observation.call;
  denial.program = observation.program;
  denial.error = ErrorName(observation.error);
  denial.by = by;
  denial.count = observation.count;
  return denial;
}

}  // namespace

std::optional<Denial> DenialOfConnection(const ConnectionRecord& record) {
  if (record.allowed) return std::nullopt;
  Denial denial;
  denial.kind = record.port == 0 ? "resolve" : "connect";
  denial.operation = record.port == 0 ? "dns" : "connect";
  denial.host = record.host;
  denial.port = record.port;
  denial.by = DeniedBy::kNetwork;
  denial.count = record.count;
  if (!record.rule.empty() && record.reason != kNoAnswer) {
    denial.not_advised = "a rule refuses it: " + record.rule;
  } else if (!record.address.empty()) {
    denial.not_advised = "it is at an address that `network.allowPrivate` alone can allow";
  } else if (!IsName(record.host)) {
    denial.not_advised = "it is an address, and hosts are allowed by name";
  } else {
    denial.grant = AllowHost(record.host, record.port);
  }
  return denial;
}

std::optional<Denial> DenialOfSocket(const Observation& observation, const DeniedRun& run) {
  if (!run.scene || run.scene->network == Network::kAllow) return std::nullopt;
  const bool has_own_network = run.scene->wall == DenialScene::Wall::kBubblewrap ||
                               run.scene->wall == DenialScene::Wall::kProject ||
                               run.scene->wall == DenialScene::Wall::kFirejail;
  if (!has_own_network) {
    // Landlock, the network denied: the filter refuses what sockets are made with.
    if (!observation.by_filter || observation.error != EACCES) return std::nullopt;
    Denial denial = ModeDenied(observation, DeniedBy::kSeccomp);
    denial.grant = {.kind = Grant::Kind::kText, .option = "network", .text = "allow"};
    return denial;
  }
  const bool is_unreachable = observation.error == ENETUNREACH ||
                              observation.error == EHOSTUNREACH || observation.error == ENETDOWN ||
                              observation.error == EADDRNOTAVAIL;
  if (observation.kind != Observation::Kind::kConnect || !is_unreachable) return std::nullopt;
  // Port 0 is no connection: the C library sorts addresses so.
  if (observation.port == 0 || IsLoopback(observation.address)) return std::nullopt;
  Denial denial = ModeDenied(observation, DeniedBy::kNetwork);
  denial.host = observation.address;
  denial.port = observation.port;
  const bool asks_name = observation.port == kDnsPort;
  if (asks_name && IsNewsOrLocal(observation.program, run.argv)) return std::nullopt;
  if (asks_name) denial.kind = "resolve";
  const NamedHost named = HostInWords(run.argv);
  const bool can_name = run.scene->wall != DenialScene::Wall::kFirejail && !named.host.empty();
  if (asks_name && can_name) {
    denial.host = named.host;
    denial.port = named.port;
    denial.grant = AllowHost(named.host, named.port);
  } else if (run.scene->wall == DenialScene::Wall::kFirejail) {
    denial.grant = {.kind = Grant::Kind::kText, .option = "network", .text = "allow"};
  } else {
    denial.not_advised = asks_name
                             ? "which name it asked for is not known; `network.allow` takes names"
                             : "it is an address, and hosts are allowed by name";
  }
  return denial;
}

}  // namespace native_runner
