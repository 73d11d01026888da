#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "policy/result.h"

namespace native_runner {

// Why a text is no host name; HostFaultText says it.
enum class HostFault {
  kEmpty,
  kTooLong,
  kEmptyLabel,
  kLongLabel,
  kNonAscii,
  kCharacter,
  kHyphen,
  kALabel,
  kNumber,
};

// What a host name has to be where it is not, as the end of "expected …".
const char* HostFaultText(HostFault fault);

// The name of a host in its one form: lower case, without the dot at the end, letters, digits,
// hyphens and underscores. Only ParseHostName makes one, so whoever holds it need not check.
class HostName {
 public:
  // "registry.npmjs.org"; never empty, at most 253 bytes.
  const std::string& text() const { return text_; }
  // Whether it lies below `parent`, by whole labels: a.b.c below b.c and c, not below itself.
  bool IsBelow(const HostName& parent) const;

  friend auto operator<=>(const HostName&, const HostName&) = default;
  friend Result<HostName, HostFault> ParseHostName(std::string_view text);

 private:
  explicit HostName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// RFC 1123 2.1 with what is met besides: underscores, hyphens at a label's end. Labels of up to 63
// bytes, 253 in all (RFC 1035 2.3.4); one dot at the end is left out. A label that begins with
// "xn--" has to be an A-label. Beyond ASCII nothing is taken: which text a person means takes
// Unicode's tables (UTS 46), which JavaScript has (`domainToASCII`) and protocols don't send. What
// ends in a number is an address or nothing (see EndsInNumber). Pure.
Result<HostName, HostFault> ParseHostName(std::string_view text);

}  // namespace native_runner
