#include "supervise/proc/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

#include "supervise/os/descriptor.h"

namespace native_runner {

std::string ReadProcFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes(8192, '\0');
  std::size_t size = 0;
  while (file.valid() && size < bytes.size()) {
    const ssize_t got = read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

std::vector<std::uint64_t> LeadingNumbers(std::string_view text, int base) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0; (at = text.find_first_not_of("\t ", at)) != std::string_view::npos;) {
    std::uint64_t number = 0;
    const bool is_negative = text[at] == '-';
    const char* const from = text.data() + at + (is_negative ? 1 : 0);
    const auto parsed = std::from_chars(from, text.data() + text.size(), number, base);
    if (parsed.ec != std::errc()) break;
    numbers.push_back(is_negative ? 0 : number);
    at = static_cast<std::size_t>(parsed.ptr - text.data());
  }
  return numbers;
}

std::vector<std::uint64_t> NumbersInLine(const std::string& path, std::string_view name, int base) {
  const std::string bytes = ReadProcFile(path);
  std::string_view text = bytes;
  while (!text.empty() && !text.starts_with(name))
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text.remove_prefix(std::min(name.size(), text.size()));
  return LeadingNumbers(text.substr(0, text.find('\n')), base);
}

pid_t NumberOfPidfd(int pidfd) {
  const auto numbers = NumbersInLine("/proc/self/fdinfo/" + std::to_string(pidfd), "Pid:");
  return numbers.empty() ? 0 : static_cast<pid_t>(numbers[0]);
}

}  // namespace native_runner
