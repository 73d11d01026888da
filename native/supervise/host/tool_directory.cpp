#include "supervise/host/tool_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "policy/text/path.h"
#include "supervise/os/descriptor.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

constexpr std::size_t kMostSteps = 20;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// The absolute program of a "#!" line; else empty. Opens nothing but regular files, and waits for
// nothing.
std::string InterpreterAt(int directory, const char* path) {
  const Descriptor file(openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, 256> bytes{};
  const ssize_t size = file.valid() ? read(file.get(), bytes.data(), bytes.size()) : -1;
  if (size < 2 || bytes[0] != '#' || bytes[1] != '!') return "";
  std::string_view line(bytes.data(), static_cast<std::size_t>(size));
  line = line.substr(2, line.find('\n') - 2);
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos || line[start] != '/') return "";
  line.remove_prefix(start);
  return std::string(line.substr(0, line.find_first_of(" \t\r")));
}

bool IsFileAt(int directory, const char* path, int flags) {
  struct statx status {};
  return statx(directory, path, flags, STATX_TYPE, &status) == 0 && S_ISREG(status.stx_mode);
}

void PushFront(std::deque<std::string>* parts, std::string_view path) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) all.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  parts->insert(parts->begin(), all.begin(), all.end());
}

// True if a look at an absolute path, its links followed as the kernel does, would ask one of these
// mount points. Asks none of them itself.
bool LeadsInto(const std::vector<std::string>& mounts, const std::string& path) {
  constexpr int kMostLinks = 40;
  if (mounts.empty()) return false;
  std::deque<std::string> parts;
  PushFront(&parts, path);
  std::string at = "/";
  for (int links = 0; !parts.empty();) {
    const std::string name = std::move(parts.front());
    parts.pop_front();
    if (name == ".") continue;
    if (name == "..") {
      at = ParentOf(at);
      continue;
    }
    std::string next = (at == "/" ? at : at + "/") + name;
    const bool is_silent = std::any_of(mounts.begin(), mounts.end(), [&next](const auto& mount) {
      return PathCovers(mount, next);
    });
    if (is_silent) return true;
    const auto text = ReadLink(AT_FDCWD, next);
    if (!text || links++ == kMostLinks) {
      at = std::move(next);
      continue;
    }
    PushFront(&parts, *text);
    if (text->starts_with('/')) at = "/";
  }
  return false;
}

// Knows which directories are those of Python environments.
class Environments {
 public:
  bool HasProgram(const std::string& path) {
    const std::string directory = ParentOf(path);
    const auto known = known_.find(directory);
    if (known != known_.end()) return known->second;
    const std::string mark = ParentOf(directory) + "/pyvenv.cfg";
    return known_[directory] = faccessat(AT_FDCWD, mark.c_str(), F_OK, 0) == 0;
  }

 private:
  std::map<std::string, bool> known_;
};

ToolLink FollowLink(const std::string& path, std::string text,
                    const std::vector<std::string>& silent, Environments& environments) {
  ToolLink link{.steps = {path}, .interpreter = ""};
  for (std::optional<std::string> next = std::move(text); next && link.steps.size() <= kMostSteps;
       next = ReadLink(AT_FDCWD, link.steps.back())) {
    link.steps.push_back(LinkTarget(link.steps.back(), *next));
    if (LeadsInto(silent, link.steps.back())) return link;
  }
  const std::string& end = link.steps.back();
  if (environments.HasProgram(end) && IsFileAt(AT_FDCWD, end.c_str(), 0))
    link.interpreter = InterpreterAt(AT_FDCWD, end.c_str());
  return link;
}

}  // namespace

ToolDirectory ReadToolDirectory(const std::string& path, bool reads_scripts,
                                const std::vector<std::string>& silent) {
  ToolDirectory found;
  NotePath(path);
  const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
  if (directory == nullptr) return found;
  const int at = dirfd(directory.get());
  Environments environments;
  std::set<std::string> interpreters;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string name = entry->d_name;
    const bool is_unknown = entry->d_type == DT_UNKNOWN;
    if (entry->d_type == DT_LNK || is_unknown) {
      if (auto text = ReadLink(at, name)) {
        found.links.push_back(
            FollowLink(JoinPath(path, name), std::move(*text), silent, environments));
        continue;
      }
    }
    if (!reads_scripts || (entry->d_type != DT_REG && !is_unknown)) continue;
    if (is_unknown && !IsFileAt(at, name.c_str(), AT_SYMLINK_NOFOLLOW)) continue;
    if (auto interpreter = InterpreterAt(at, name.c_str()); !interpreter.empty())
      interpreters.insert(std::move(interpreter));
  }
  found.interpreters.assign(interpreters.begin(), interpreters.end());
  return found;
}

}  // namespace native_runner
