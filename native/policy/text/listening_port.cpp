#include "policy/text/listening_port.h"

#include <array>
#include <charconv>
#include <string>
#include <system_error>

namespace native_runner {
namespace {

constexpr std::string_view kListen = "0A";  // TCP_LISTEN, in hexadecimal

// Returns the first words of a line: number, local address, remote address, state.
std::array<std::string_view, 4> FirstWords(std::string_view line) {
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string_view::npos) break;
    line.remove_prefix(start);
    word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
  }
  return words;
}

// True if an address, ADDRESS:PORT in hexadecimal, has this port.
bool HasPort(std::string_view address, std::uint16_t port) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return false;
  address.remove_prefix(colon + 1);
  std::uint16_t found = 0;
  const char* end = address.data() + address.size();
  const auto parsed = std::from_chars(address.data(), end, found, 16);
  return parsed.ec == std::errc() && parsed.ptr == end && found == port;
}

}  // namespace

bool HasListener(std::string_view table, std::uint16_t port) {
  for (std::size_t end = 0; (end = table.find('\n')) != std::string_view::npos;) {
    const auto [number, local, remote, state] = FirstWords(table.substr(0, end));
    if (state == kListen && HasPort(local, port)) return true;
    table.remove_prefix(end + 1);
  }
  return false;
}

std::optional<std::uint64_t> SocketsInUse(std::string_view text, std::string_view protocol) {
  const std::string name = std::string(protocol) + ": inuse ";
  while (!text.empty() && !text.starts_with(name)) {
    const std::size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (text.empty()) return std::nullopt;
  text.remove_prefix(name.size());
  std::uint64_t count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), count);
  return parsed.ec == std::errc() ? std::optional(count) : std::nullopt;
}

}  // namespace native_runner
