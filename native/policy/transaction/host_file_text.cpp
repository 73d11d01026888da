#include "policy/transaction/host_file_text.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <limits>

namespace native_runner {
namespace {

bool TakeSmall(std::string_view* rest, std::uint32_t* number) {
  std::uint64_t taken = 0;
  if (!TakeNumber(rest, &taken) || taken > std::numeric_limits<std::uint32_t>::max()) return false;
  *number = static_cast<std::uint32_t>(taken);
  return true;
}

}  // namespace

void PutField(std::string* text, std::string_view value) {
  *text += value;
  *text += '\0';
}

void PutNumber(std::string* text, std::uint64_t number) {
  constexpr std::size_t kMostDigits = 20;
  std::array<char, kMostDigits> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  PutField(text, {digits.data(), static_cast<std::size_t>(written.ptr - digits.data())});
}

void PutHostFile(std::string* text, const HostFile& file) {
  for (const std::uint64_t number :
       {std::uint64_t{file.mode}, std::uint64_t{file.uid}, std::uint64_t{file.gid}, file.size,
        file.device, file.inode, file.modified_ns, file.changed_ns, file.born_ns})
    PutNumber(text, number);
}

bool TakeField(std::string_view* rest, std::string* value) {
  const std::size_t end = rest->find('\0');
  if (end == std::string_view::npos) return false;
  *value = rest->substr(0, end);
  rest->remove_prefix(end + 1);
  return true;
}

bool TakeNumber(std::string_view* rest, std::uint64_t* number) {
  std::string text;
  if (!TakeField(rest, &text)) return false;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && at == end;
}

bool TakeHostFile(std::string_view* rest, HostFile* file) {
  return TakeSmall(rest, &file->mode) && TakeSmall(rest, &file->uid) &&
         TakeSmall(rest, &file->gid) && TakeNumber(rest, &file->size) &&
         TakeNumber(rest, &file->device) && TakeNumber(rest, &file->inode) &&
         TakeNumber(rest, &file->modified_ns) && TakeNumber(rest, &file->changed_ns) &&
         TakeNumber(rest, &file->born_ns);
}

}  // namespace native_runner
