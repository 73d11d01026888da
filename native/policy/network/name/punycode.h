#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace native_runner {

// Punycode (RFC 3492), without the "xn--" of an A-label. Pure; linear in what a label can hold.

// The code points that `text` stands for; nullopt for what is none: other characters, numbers that
// overflow or lead above U+10FFFF, surrogates.
std::optional<std::u32string> DecodePunycode(std::string_view text);

// The one form of `code_points`, in lower case.
std::string EncodePunycode(std::u32string_view code_points);

// Whether `label` (in lower case, with its "xn--") is the one A-label of a text that needs one (RFC
// 5890 2.3.2.1): it decodes, to more than ASCII, and encodes to itself again. Which code points
// IDNA permits (RFC 5892) is not looked at: that takes tables of Unicode, and a registry's rules.
bool IsALabel(std::string_view label);

}  // namespace native_runner
