#include "effects/tree/new_id.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "supervise/os/descriptor.h"

namespace native_runner {

Result<std::string> NewId() {
  std::array<unsigned char, 6> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return SystemError("getrandom", errno);
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  for (const unsigned char byte : bytes) {
    id += kDigits[byte >> 4U];
    id += kDigits[byte & 15U];
  }
  return id;
}

}  // namespace native_runner
