#pragma once

#include <cstddef>
#include <cstring>

namespace native_runner {

// A NUL-terminated text of at most N - 1 bytes in its own buffer; text that does not fit is cut
// off. The launcher allocates nothing, so it builds its paths and messages in these.
template <std::size_t N>
class FixedText {
 public:
  FixedText& Add(const char* text) { return Add(text, std::strlen(text)); }

  FixedText& Add(const char* text, std::size_t size) {
    const std::size_t room = N - 1 - size_;
    if (size > room) {
      cut_ = true;
      size = room;
    }
    std::memcpy(bytes_ + size_, text, size);
    size_ += size;
    bytes_[size_] = '\0';
    return *this;
  }

  FixedText& AddNumber(long number) {
    char digits[24];
    char* first = digits + sizeof digits;
    unsigned long rest =
        number < 0 ? 0ul - static_cast<unsigned long>(number) : static_cast<unsigned long>(number);
    do {
      *--first = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (number < 0) *--first = '-';
    return Add(first, static_cast<std::size_t>(digits + sizeof digits - first));
  }

  void Clear() {
    size_ = 0;
    cut_ = false;
    bytes_[0] = '\0';
  }

  const char* c_str() const { return bytes_; }
  std::size_t size() const { return size_; }
  bool cut() const { return cut_; }

 private:
  std::size_t size_ = 0;
  bool cut_ = false;
  char bytes_[N] = {};
};

// Returns the English text of an errno, as strerror(3) has it in the C locale. strerror() itself
// would link locales and message catalogues into the static executable. Unlisted numbers get a
// general text.
const char* ErrnoText(int error);

}  // namespace native_runner
