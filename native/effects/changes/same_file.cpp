#include "effects/changes/same_file.h"

#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "supervise/os/descriptor.h"

namespace native_runner {
namespace {

constexpr std::size_t kBlock = std::size_t{128} << 10U;
constexpr std::size_t kFirstBlock = std::size_t{4} << 10U;
constexpr std::string_view kUsers = "user.";
constexpr std::string_view kOverlays = "user.overlay.";

// As many bytes as there are, up to the block's size; -1: it can't be read.
ssize_t ReadBlock(int file, off_t offset, std::vector<char>* block) {
  std::size_t filled = 0;
  while (filled < block->size()) {
    const ssize_t got = pread(file, block->data() + filled, block->size() - filled,
                              offset + static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(filled);
}

// What `call` gives with the buffer that it asks for; both are asked again where it has grown.
template <typename Call>
std::optional<std::string> Grown(const Call& call) {
  for (int left = 8; left > 0; --left) {
    const ssize_t size = call(nullptr, 0);
    if (size <= 0) return size == 0 ? std::optional<std::string>("") : std::nullopt;
    std::string bytes(static_cast<std::size_t>(size), '\0');
    const ssize_t got = call(bytes.data(), bytes.size());
    if (got < 0 && errno == ERANGE) continue;
    if (got < 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::string> Value(int file, const char* name) {
  return Grown(
      [file, name](char* to, std::size_t size) { return fgetxattr(file, name, to, size); });
}

std::optional<std::map<std::string, std::string>> Attributes(int file) {
  std::map<std::string, std::string> attributes;
  const auto names =
      Grown([file](char* to, std::size_t size) { return flistxattr(file, to, size); });
  if (!names) return errno == ENOTSUP ? std::optional(attributes) : std::nullopt;
  const char* const end = names->data() + names->size();
  for (const char* at = names->data(); at < end; at += std::strlen(at) + 1) {
    const std::string_view name = at;
    if (!name.starts_with(kUsers) || name.starts_with(kOverlays)) continue;
    auto value = Value(file, at);
    if (!value) return std::nullopt;
    attributes.emplace(name, std::move(*value));
  }
  return attributes;
}

}  // namespace

bool HaveSameBytes(int one, int other, std::uint64_t size) {
  std::vector<char> first;
  std::vector<char> second;
  for (std::uint64_t offset = 0; offset < size; offset += first.size()) {
    // Most files are small, or differ soon.
    const std::size_t most = offset == 0 ? kFirstBlock : kBlock;
    first.resize(std::min<std::uint64_t>(most, size - offset));
    second.resize(first.size());
    const auto wanted = static_cast<ssize_t>(first.size());
    const auto at = static_cast<off_t>(offset);
    // One that has become shorter meanwhile is another.
    if (ReadBlock(one, at, &first) != wanted || ReadBlock(other, at, &second) != wanted) {
      return false;
    }
    if (std::memcmp(first.data(), second.data(), first.size()) != 0) return false;
  }
  return true;
}

std::optional<std::uint64_t> DigestOf(int file) {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15;
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::vector<char> block(kBlock);
  std::uint64_t digest = 0;
  for (off_t offset = 0;; offset += static_cast<off_t>(kBlock)) {
    const ssize_t got = ReadBlock(file, offset, &block);
    if (got < 0) return std::nullopt;
    const auto size = static_cast<std::size_t>(got);
    for (std::size_t at = 0; at < size; at += kWord) {
      std::uint64_t word = 0;
      std::memcpy(&word, block.data() + at, std::min(kWord, size - at));
      digest = (digest ^ word) * kPrime;
      digest ^= digest >> 29U;
    }
    if (size < kBlock) return digest;
  }
}

bool HaveSameAttributes(int one, int other) {
  const auto first = Attributes(one);
  const auto second = Attributes(other);
  return first && second && *first == *second;
}

bool CopyAttributes(int from, int to) {
  const auto attributes = Attributes(from);
  if (!attributes) return false;
  for (const auto& [name, value] : *attributes)
    if (fsetxattr(to, name.c_str(), value.data(), value.size(), 0) != 0) return false;
  return true;
}

Result<bool> HasAttribute(int file, const char* name, std::optional<std::string_view> value) {
  constexpr std::size_t kLongestNote = 64;
  std::array<char, kLongestNote> bytes{};
  const ssize_t size = fgetxattr(file, name, bytes.data(), value ? bytes.size() : 0);
  if (size >= 0) {
    return !value || std::string_view(bytes.data(), static_cast<std::size_t>(size)) == *value;
  }
  if (errno == ENODATA || errno == ENOTSUP) return false;
  if (errno == ERANGE) return false;  // longer than any that is asked for
  return SystemError("fgetxattr", errno);
}

}  // namespace native_runner
