#include "policy/network/http/forward.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "policy/text/ascii.h"

namespace native_runner {
namespace {

constexpr std::array<std::string_view, 9> kNotForwarded = {
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive",
    "TE",   "Upgrade",        "HTTP2-Settings",    "Trailer"};

bool IsForwarded(const HttpRequest& request, const HttpField& field) {
  const auto is_it = [&field](std::string_view name) {
    return EqualIgnoringCase(field.name, name);
  };
  if (std::any_of(kNotForwarded.begin(), kNotForwarded.end(), is_it)) return false;
  if (AsciiLowered(field.name).starts_with("proxy-")) return false;
  return !ListHas(request, "Connection", field.name);
}

void AddField(std::string* head, std::string_view name, std::string_view value) {
  *head += name;
  *head += ": ";
  *head += value;
  *head += "\r\n";
}

std::string HostValue(const HttpRequest& request) {
  const IpAddress* address = std::get_if<IpAddress>(&request.host);
  const bool has_brackets = address != nullptr && !address->is_v4();
  const std::string host = HostText(request.host);
  const std::string text = has_brackets ? "[" + host + "]" : host;
  const bool is_default = request.form == HttpForm::kAbsolute && request.port == 80;
  return request.port && !is_default ? text + ":" + std::to_string(*request.port) : text;
}

}  // namespace

std::string ForwardedHead(const HttpRequest& request, bool closes) {
  std::string head = request.method + " " + request.path + " HTTP/1." +
                     std::to_string(request.minor_version) + "\r\n";
  AddField(&head, "Host", HostValue(request));
  for (const HttpField& field : request.fields) {
    if (IsForwarded(request, field)) AddField(&head, field.name, field.value);
  }
  if (request.content_length) {
    AddField(&head, "Content-Length", std::to_string(*request.content_length));
  }
  if (request.is_chunked) AddField(&head, "Transfer-Encoding", "chunked");
  if (request.upgrades_to_websocket) {
    AddField(&head, "Upgrade", "websocket");
    AddField(&head, "Connection", "Upgrade");
  } else if (closes) {
    AddField(&head, "Connection", "close");
  } else if (request.minor_version == 0) {
    AddField(&head, "Connection", "keep-alive");
  }
  return head + "\r\n";
}

}  // namespace native_runner
