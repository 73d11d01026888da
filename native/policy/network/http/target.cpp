#include "policy/network/http/target.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "policy/text/ascii.h"

namespace native_runner {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::string_view kHttpScheme = "http://";

bool IsTargetCharacter(char c) {
  return c > ' ' && c < 0x7f && c != '#';
}

std::optional<HttpFault> ReadAuthorityForm(std::string_view target, HttpRequest* request) {
  auto authority = ParseAuthority(target);
  if (!authority || !authority->port) return HttpFault::kTarget;
  request->form = HttpForm::kAuthority;
  request->host = std::move(authority->host);
  request->port = authority->port;
  return std::nullopt;
}

// RFC 9112 3.2.4: without a path and query OPTIONS is about the whole server.
std::string PathOf(std::string_view rest, std::string_view method) {
  if (rest.empty()) return method == "OPTIONS" ? "*" : "/";
  std::string path(rest);
  if (path.front() == '?') path.insert(path.begin(), '/');
  return path;
}

std::optional<HttpFault> ReadAbsoluteForm(std::string_view target, HttpRequest* request) {
  if (!EqualIgnoringCase(target.substr(0, kHttpScheme.size()), kHttpScheme)) {
    const bool has_scheme = target.find("://") != std::string_view::npos;
    return has_scheme ? HttpFault::kScheme : HttpFault::kTarget;
  }
  target.remove_prefix(kHttpScheme.size());
  const std::size_t end = std::min(target.find_first_of("/?"), target.size());
  auto authority = ParseAuthority(target.substr(0, end));
  if (!authority) return HttpFault::kTarget;
  request->form = HttpForm::kAbsolute;
  request->host = std::move(authority->host);
  request->port = authority->port.value_or(kHttpPort);
  request->path = PathOf(target.substr(end), request->method);
  return std::nullopt;
}

}  // namespace

std::optional<HttpFault> ReadTarget(std::string_view target, HttpRequest* request) {
  if (target.empty() || !std::all_of(target.begin(), target.end(), IsTargetCharacter)) {
    return HttpFault::kTarget;
  }
  if (request->method == "CONNECT") return ReadAuthorityForm(target, request);
  if (target == "*" || target.front() == '/') {
    const bool is_asterisk = target == "*";
    if (is_asterisk && request->method != "OPTIONS") return HttpFault::kTarget;
    request->form = is_asterisk ? HttpForm::kAsterisk : HttpForm::kOrigin;
    request->path = target;
    return std::nullopt;
  }
  return ReadAbsoluteForm(target, request);
}

std::optional<Authority> ParseAuthority(std::string_view text) {
  const auto parts = SplitHostPort(text);
  if (!parts) return std::nullopt;
  std::optional<std::uint16_t> port;
  if (parts->port) {
    port = ParsePort(*parts->port);
    if (!port) return std::nullopt;
  }
  auto host = ParseHost(parts->host);
  if (!host) return std::nullopt;
  return Authority{.host = std::move(host.value()), .port = port};
}

}  // namespace native_runner
