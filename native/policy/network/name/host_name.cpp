#include "policy/network/name/host_name.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "policy/network/address/ip_parse.h"
#include "policy/network/name/punycode.h"
#include "policy/text/ascii.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostBytes = 253;
constexpr std::size_t kMostLabelBytes = 63;

constexpr bool IsHostCharacter(char c) {
  return IsAsciiLetter(c) || IsAsciiDigit(c) || c == '-' || c == '_';
}

std::optional<HostFault> LabelFault(std::string_view label) {
  if (label.empty()) return HostFault::kEmptyLabel;
  if (label.size() > kMostLabelBytes) return HostFault::kLongLabel;
  if (!std::all_of(label.begin(), label.end(), IsHostCharacter)) return HostFault::kCharacter;
  // What begins so would be an option to whatever command the name is passed to.
  if (label.front() == '-') return HostFault::kHyphen;
  if (label.starts_with("xn--") && !IsALabel(label)) return HostFault::kALabel;
  return std::nullopt;
}

std::optional<HostFault> LabelsFault(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (const auto fault = LabelFault(text.substr(0, dot))) return fault;
    if (dot == std::string_view::npos) return std::nullopt;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

const char* HostFaultText(HostFault fault) {
  switch (fault) {
    case HostFault::kEmpty:
      return "a host name that is not empty";
    case HostFault::kTooLong:
      return "a host name of at most 253 characters";
    case HostFault::kEmptyLabel:
      return "a host name without an empty label";
    case HostFault::kLongLabel:
      return "a host name with labels of at most 63 characters";
    case HostFault::kNonAscii:
      return "a host name in ASCII (what `domainToASCII` of node:url makes of it)";
    case HostFault::kCharacter:
      return "a host name of letters, digits, hyphens and dots";
    case HostFault::kHyphen:
      return "a host name with no label that begins with a hyphen";
    case HostFault::kALabel:
      return "a host name whose labels with \"xn--\" are punycode";
    case HostFault::kNumber:
      return "a host name, which does not end in a number, or a whole address";
  }
  return "";
}

bool HostName::IsBelow(const HostName& parent) const {
  const std::size_t size = parent.text_.size();
  return text_.size() > size + 1 && text_.ends_with(parent.text_) &&
         text_[text_.size() - size - 1] == '.';
}

Result<HostName, HostFault> ParseHostName(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty()) return HostFault::kEmpty;
  if (text.size() > kMostBytes) return HostFault::kTooLong;
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (!std::all_of(text.begin(), text.end(), is_ascii)) return HostFault::kNonAscii;
  std::string lowered = AsciiLowered(text);
  if (const auto fault = LabelsFault(lowered)) return *fault;
  if (EndsInNumber(lowered)) return HostFault::kNumber;
  return HostName(std::move(lowered));
}

}  // namespace native_runner
