#include "supervise/transaction/overlay_checks.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

#include "policy/text/path.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr int kMostEntries = 10'000;  // that are looked at; some 1 us each

Error No(const std::string& why) {
  return Error{ErrorCode::kUnavailable, "no overlay can be mounted here: " + why,
               "see docs/transactions.md for what an overlay needs"};
}

// proc_pid_mountinfo(5): space, tab, newline and backslash are written as three octal digits.
std::string Unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size()) {
      const int value = (text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0');
      plain += static_cast<char>(value);
      at += 3;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

// All of it: the table may have many lines.
Result<std::string> ReadMountTable() {
  auto file = OpenPath("/proc/self/mountinfo", O_RDONLY);
  if (!file) return file.error();
  std::string text;
  std::array<char, 16'384> block{};
  for (;;) {
    const ssize_t got = read(file->get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read of /proc/self/mountinfo", errno);
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

// The fifth field of a line: where something is mounted.
std::string PlaceIn(std::string_view line) {
  for (int skipped = 0; skipped < 4; ++skipped)
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
  return Unescaped(line.substr(0, line.find(' ')));
}

std::optional<Error> CheckMounts(const std::string& workspace) {
  const auto table = ReadMountTable();
  if (!table) return No(table.error().message);
  for (std::string_view rest = table.value(); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string place = PlaceIn(rest.substr(0, end));
    if (PathCovers(workspace, place) && !SamePath(workspace, place)) {
      return No("another file system is mounted at " + place);
    }
    rest.remove_prefix(end);
  }
  return std::nullopt;
}

bool IsOurs(int directory, const char* name) {
  struct statx status {};
  constexpr int kFlags = AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW;
  if (statx(directory, name, kFlags, STATX_UID | STATX_GID, &status) != 0) return true;  // gone
  return status.stx_uid == geteuid() && status.stx_gid == getegid();
}

struct CloseStream {
  void operator()(DIR* stream) const { closedir(stream); }
};

std::optional<Error> CheckOwners(const Workspace& workspace) {
  const int directory = workspace.directory.get();
  if (!IsOurs(directory, "")) return No("the workspace has another owner or group than the user's");
  const int readable = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseStream> stream(readable < 0 ? nullptr : fdopendir(readable));
  if (!stream) return SystemError("open of the workspace", errno);
  for (int left = kMostEntries; left > 0; --left) {
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == ".." || IsOurs(directory, entry->d_name)) continue;
    return No(std::string(name) + " has another owner or group than the user's");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> CheckOverlay(const Workspace& workspace) {
  if (workspace.path == "/") return No("the workspace is the root directory");
  if (auto error = CheckMounts(workspace.path)) return error;
  return geteuid() == 0 ? std::nullopt : CheckOwners(workspace);
}

}  // namespace native_runner
