#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tests/supervise/support/temp_directory.h"
#include "workspace/files/directory_entries.h"
#include "workspace/files/workspace_files.h"
#include "workspace/tree/beneath.h"

namespace native_runner {

// A workspace, and beside it what nothing may reach.
class Tree {
 public:
  Tree() {
    std::filesystem::create_directories(place_.Path("workspace/inner"));
    std::filesystem::create_directories(place_.Path("outside"));
    place_.Write("workspace/file", "inside");
    place_.Write("workspace/inner/file", "inside");
    place_.Write("outside/file", "secret");
  }
  ~Tree() {  // std::filesystem can't go as deep as some tests do
    auto all = Beneath::Open(place_.path());
    if (all) RemoveEntry(all.value(), "workspace", true).ok();
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  const TempDirectory& place() const { return place_; }
  std::string Path(std::string_view name) const {
    return place_.Path("workspace/" + std::string(name));
  }
  std::string Text(std::string_view name) const {
    return place_.Read("workspace/" + std::string(name));
  }
  bool Has(std::string_view name) const { return place_.Has("workspace/" + std::string(name)); }
  void Write(std::string_view name, std::string_view text, mode_t mode = 0644) const {
    place_.Write("workspace/" + std::string(name), text, mode);
  }
  void Link(const std::string& target, std::string_view name) const {
    std::filesystem::create_symlink(target, Path(name));
  }
  std::string Secret() const { return place_.Read("outside/file"); }

  Beneath Root() const { return std::move(Beneath::Open(Path("")).value()); }

  // The names in one of its directories.
  std::set<std::string> Names(std::string_view name = "") const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(Path(name)))
      names.insert(entry.path().filename());
    return names;
  }

 private:
  TempDirectory place_;
};

// Returns "" for success, errno's name as text, or the kind of fault.
template <typename T>
std::string OutcomeOf(const FileResult<T>& result) {
  if (result) return "";
  const FileError& error = result.error();
  switch (error.kind) {
    case FileError::Kind::kSystem:
      return strerrorname_np(error.number);
    case FileError::Kind::kTooLarge:
      return "too large";
    case FileError::Kind::kTooMany:
      return "too many";
    case FileError::Kind::kChanged:
      return "changed";
    case FileError::Kind::kSandbox:
      break;
  }
  return "sandbox: " + error.sandbox.message;
}

inline std::string TextOf(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const std::uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The file's text, or the outcome in brackets.
inline std::string Contents(const Beneath& root, std::string_view path) {
  constexpr std::uint64_t kMost = 1U << 20U;
  const auto read = ReadFile(root, path, kMost);
  return read ? TextOf(read.value()) : "[" + OutcomeOf(read) + "]";
}

}  // namespace native_runner
