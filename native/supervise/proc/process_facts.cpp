#include "supervise/proc/process_facts.h"

#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "supervise/proc/proc_file.h"

namespace native_runner {
namespace {

constexpr std::uint64_t kExiting = 0x4;  // PF_EXITING, include/linux/sched.h
constexpr std::uint64_t kKilled = std::uint64_t{1} << (SIGKILL - 1U);

// Of proc_pid_stat(5), counted from behind the state.
enum Field : std::size_t { kParent = 0, kFlags = 5, kUser = 10, kSystem = 11, kThreads = 16 };

std::string DirectoryOf(pid_t process) {
  return "/proc/" + std::to_string(process);
}

bool IsKilled(pid_t process) {
  const std::string path = DirectoryOf(process) + "/status";
  for (const char* const line : {"SigPnd:", "ShdPnd:"}) {
    const auto pending = NumbersInLine(path, line, 16);
    if (!pending.empty() && (pending[0] & kKilled) != 0) return true;
  }
  return false;
}

// The entries of a directory in /proc that are numbers.
std::vector<pid_t> NumbersIn(const std::string& path) {
  struct Close {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> directory(opendir(path.c_str()));
  std::vector<pid_t> numbers;
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    pid_t number = 0;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, number).ptr == end) numbers.push_back(number);
  }
  return numbers;
}

bool TellsOfChildren() {
  return access("/proc/thread-self/children", R_OK) == 0;
}

std::vector<pid_t> ChildrenOf(pid_t parent) {
  std::vector<pid_t> children;
  const std::string tasks = DirectoryOf(parent) + "/task";
  for (const pid_t task : NumbersIn(tasks)) {
    const std::string listed = ReadProcFile(tasks + "/" + std::to_string(task) + "/children");
    for (const std::uint64_t child : LeadingNumbers(listed))
      children.push_back(static_cast<pid_t>(child));
  }
  return children;
}

std::multimap<pid_t, pid_t> AllByParent() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t process : NumbersIn("/proc")) {
    if (const auto facts = LookAtProcess(process)) children.emplace(facts->parent, process);
  }
  return children;
}

}  // namespace

std::optional<ProcessFacts> LookAtProcess(pid_t process) {
  const std::string stat = ReadProcFile(DirectoryOf(process) + "/stat");
  const std::size_t name_end = stat.rfind(')');  // "pid (name) state parent ..."
  if (name_end == std::string::npos || name_end + 4 > stat.size()) return std::nullopt;
  const auto fields = LeadingNumbers(std::string_view(stat).substr(name_end + 4));
  if (fields.size() <= kThreads) return std::nullopt;
  ProcessFacts facts;
  facts.parent = static_cast<pid_t>(fields[kParent]);
  facts.state = stat[name_end + 2];
  facts.cpu_ticks = fields[kUser] + fields[kSystem];
  // One that only waits to be reaped is not dying, unless other threads of it are.
  const bool is_dead = (facts.state == 'Z' || facts.state == 'X') && fields[kThreads] <= 1;
  facts.is_dying = !is_dead && ((fields[kFlags] & kExiting) != 0 || IsKilled(process));
  return facts;
}

std::vector<pid_t> DescendantsOf(pid_t root, std::size_t most) {
  const bool asks_each = TellsOfChildren();
  const auto all = asks_each ? std::multimap<pid_t, pid_t>() : AllByParent();
  std::vector<pid_t> found = {root};
  for (std::size_t at = 0; at < found.size() && found.size() <= most; ++at) {
    if (asks_each) {
      const auto children = ChildrenOf(found[at]);
      found.insert(found.end(), children.begin(), children.end());
    } else {
      const auto [first, last] = all.equal_range(found[at]);
      for (auto each = first; each != last; ++each)
        found.push_back(each->second);
    }
  }
  found.erase(found.begin());
  return found;
}

}  // namespace native_runner
