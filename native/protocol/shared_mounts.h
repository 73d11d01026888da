#pragma once

#include <cstddef>

namespace native_runner {

// Reads a mount table, the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)), part by part:
// whether a mount gets what is mounted elsewhere, or gives others what is mounted on it (MS_SHARED
// and MS_SLAVE in mount(2)). No heap and no C library: the supervisor reads the host's mounts with
// it, the launcher its own.
class SharedMounts {
 public:
  constexpr void Take(const char* text, std::size_t size) {
    for (std::size_t at = 0; at < size && !found_; ++at)
      Take(text[at]);
    has_text_ = has_text_ || size > 0;
  }

  // Of all that was taken; true also where that is nothing, or ends within a line.
  constexpr bool found() const { return found_ || !has_text_ || !is_line_start_; }

 private:
  // Fields from this one on, up to "-", say what a mount has to do with others: there is none, or
  // "unbindable". A path has no spaces in it, they are written as octal numbers.
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
  int matched_ = 0;  // of kHarmless, so many characters; or kDash
};

}  // namespace native_runner
