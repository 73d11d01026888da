#include <cstring>

#include "protocol/order.h"

namespace native_runner {
namespace {

// Copies `text` and a NUL to `at`. Returns the position after them.
std::byte* Put(std::byte* at, std::string_view text) {
  if (!text.empty()) std::memcpy(at, text.data(), text.size());
  at += text.size();
  *at = std::byte{0};
  return at + 1;
}

}  // namespace

std::vector<std::byte> EncodeOrder(OrderHeader header, std::string_view cwd,
                                   std::span<const std::string> argv,
                                   std::span<const std::string> environment,
                                   std::span<const std::string> rules) {
  std::size_t text_bytes = cwd.size() + 1;
  for (const auto& list : {argv, environment, rules}) {
    for (const std::string& text : list)
      text_bytes += text.size() + 1;
  }
  header.argc = static_cast<std::uint32_t>(argv.size());
  header.envc = static_cast<std::uint32_t>(environment.size());
  header.rulec = static_cast<std::uint32_t>(rules.size());
  header.text_bytes = text_bytes;

  std::vector<std::byte> bytes(sizeof header + text_bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::byte* at = Put(bytes.data() + sizeof header, cwd);
  for (const auto& list : {argv, environment, rules}) {
    for (const std::string& text : list)
      at = Put(at, text);
  }
  return bytes;
}

}  // namespace native_runner
