#pragma once

#include <cstddef>
#include <cstdint>

namespace native_runner {

// Reads the decimal number at `*at`, in a NUL-terminated text, and moves `*at` past it. Returns
// false and takes nothing if there is no digit or the number does not fit. Uses no heap and no C
// library, because the launcher uses it too.
constexpr bool TakeDecimal(const char** at, std::uint64_t* value) {
  const char* next = *at;
  std::uint64_t number = 0;
  for (; *next >= '0' && *next <= '9'; ++next) {
    const auto digit = static_cast<std::uint64_t>(*next - '0');
    if (number > (UINT64_MAX - digit) / 10) return false;
    number = number * 10 + digit;
  }
  if (next == *at) return false;
  *at = next;
  *value = number;
  return true;
}

// Identifies a file independently of its path (stat(2)). Compares the file that the host has at a
// path with the one that a sandbox shows there.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  constexpr bool operator==(const FileIdentity&) const = default;
};

// Reads "DEVICE:INODE:PATH", the form used in rules (order.h). Returns where the path begins,
// nullptr for any other text. Uses no heap and no C library, because the launcher uses it too.
constexpr const char* ParseIdentity(const char* text, FileIdentity* identity) {
  if (!TakeDecimal(&text, &identity->device) || *text++ != ':') return nullptr;
  if (!TakeDecimal(&text, &identity->inode) || *text++ != ':') return nullptr;
  return *text == '/' ? text : nullptr;
}

// SO_NETNS_COOKIE (socket(7), Linux 5.14), which older headers lack. The option returns a number
// that is unique to a network namespace; any socket can read it without /proc.
inline constexpr int kNetworkCookieOption = 71;

// Returns the inode number of a namespace from the text of its link in /proc/self/ns:
// "mnt:[4026531841]" (namespaces(7)). Returns 0, which no namespace has, for any other text. Uses
// no heap and no C library: the supervisor reads the host's numbers with it, the launcher its own.
constexpr std::uint64_t NamespaceNumber(const char* link) {
  while (*link != '\0' && *link != '[')
    ++link;
  if (*link == '\0') return 0;
  ++link;
  std::uint64_t number = 0;
  return TakeDecimal(&link, &number) && link[0] == ']' && link[1] == '\0' ? number : 0;
}

// Reads a mount table, the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)), in pieces, and
// looks for a mount that receives mounts from elsewhere or propagates its own (MS_SHARED and
// MS_SLAVE in mount(2)). Uses no heap and no C library: the supervisor reads the host's mounts with
// it, the launcher its own.
class SharedMounts {
 public:
  constexpr void Take(const char* text, std::size_t size) {
    for (std::size_t at = 0; at < size && !found_; ++at)
      Take(text[at]);
    has_text_ = has_text_ || size > 0;
  }

  // True if the text taken so far has such a mount. Also true if the text is empty or ends within a
  // line.
  constexpr bool found() const { return found_ || !has_text_ || !is_line_start_; }

 private:
  // The fields from this one up to "-" describe a mount's propagation. Only no field or
  // "unbindable" is harmless. Paths contain no spaces: they are written as octal escapes.
  static constexpr int kFirstOptional = 6;
  static constexpr const char* kHarmless = "unbindable";

  constexpr void Take(char character) {
    is_line_start_ = character == '\n';
    if (is_line_start_) {
      found_ = !is_after_fields_;
      field_ = 0;
      is_after_fields_ = false;
      matched_ = 0;
    } else if (is_after_fields_) {
      return;
    } else if (character == ' ') {
      const bool is_dash = field_ >= kFirstOptional && matched_ == kDash;
      found_ = field_ >= kFirstOptional && !is_dash && kHarmless[matched_] != '\0';
      is_after_fields_ = is_dash;
      ++field_;
      matched_ = 0;
    } else if (field_ >= kFirstOptional) {
      TakeOfField(character);
    }
  }

  constexpr void TakeOfField(char character) {
    if (matched_ == 0 && character == '-') {
      matched_ = kDash;
    } else if (matched_ != kDash && character == kHarmless[matched_]) {
      ++matched_;
    } else {
      found_ = true;
    }
  }

  static constexpr int kDash = -1;

  bool found_ = false;
  bool has_text_ = false;
  bool is_line_start_ = true;
  bool is_after_fields_ = false;
  int field_ = 0;
  int matched_ = 0;  // number of characters of kHarmless matched so far, or kDash
};

}  // namespace native_runner
