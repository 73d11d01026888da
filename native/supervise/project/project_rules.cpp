#include "supervise/project/project_rules.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "policy/options/workspace_path.h"
#include "policy/text/path.h"
#include "protocol/order.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

using Paths = std::vector<std::string>;

struct Entry {
  std::string path;
  unsigned char type = DT_UNKNOWN;
};

unsigned char TypeOf(const std::string& path) {
  struct statx status {};
  if (statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) != 0) return 0;
  return static_cast<unsigned char>(IFTODT(status.stx_mode));
}

class Rules {
 public:
  // Of what is in `opened` all may be read: rules of its own are added for it.
  Rules(const Paths& opened, const Paths& secrets) : closed_(secrets.begin(), secrets.end()) {
    for (const std::string& secret : secrets) {
      for (std::size_t end = secret.rfind('/'); end != 0; end = secret.rfind('/', end - 1))
        above_.insert(secret.substr(0, end));
    }
    closed_.insert(opened.begin(), opened.end());
  }

  void Add(char kind, const std::string& path) { rules_.push_back(kind + path); }

  // All that is in `directory` but for what is closed; it can be listed.
  void AddAround(const std::string& directory) {
    Add(kRuleList, directory);
    for (const Entry& entry : EntriesOf(directory)) {
      // A link needs no rule: what it leads to has one, or none.
      if (entry.type == DT_LNK || closed_.contains(entry.path)) continue;
      if (entry.type == DT_DIR && above_.contains(entry.path)) {
        AddAround(entry.path);
      } else {
        Add(kRuleReadEntry, entry.path);
      }
    }
  }

  Paths Take() { return std::move(rules_); }

 private:
  std::vector<Entry> EntriesOf(const std::string& directory) const {
    DIR* listed = opendir(directory.c_str());
    if (listed == nullptr) return KnownEntriesOf(directory);
    std::vector<Entry> entries;
    while (const dirent* each = readdir(listed)) {
      const std::string_view name = each->d_name;
      if (name == "." || name == "..") continue;
      Entry entry{JoinPath(directory, name), each->d_type};
      if (entry.type == DT_UNKNOWN) entry.type = TypeOf(entry.path);
      entries.push_back(std::move(entry));
    }
    closedir(listed);
    return entries;
  }

  // Of a directory that may be entered and not listed, as /home is on some machines: the way to a
  // secret is known to be there.
  std::vector<Entry> KnownEntriesOf(const std::string& directory) const {
    std::vector<Entry> entries;
    for (const std::string& path : above_) {
      if (path.substr(0, path.rfind('/')) != directory) continue;
      const unsigned char type = TypeOf(path);
      if (type != 0) entries.push_back({path, type});
    }
    return entries;
  }

  std::set<std::string> closed_;
  std::set<std::string> above_;  // directories that hold a secret, at any depth
  Paths rules_;
};

}  // namespace

std::vector<std::string> ProjectRules(const ProjectPolicy& policy, const ProjectFacts& facts,
                                      const std::vector<std::string>& secrets) {
  Paths writable = facts.scratch;
  writable.insert(writable.end(), policy.folders.begin(), policy.folders.end());
  writable.emplace_back("/proc");
  Paths opened = writable;
  opened.emplace_back("/dev");
  Paths around;
  for (const std::string& secret : secrets) {
    const bool is_opened = std::any_of(opened.begin(), opened.end(), [&](const auto& directory) {
      return PathCovers(directory, secret);
    });
    if (!is_opened) around.push_back(secret);
  }
  Rules rules(opened, around);
  rules.AddAround("/");
  for (const std::string& path : opened)
    rules.Add(kRuleRead, path);
  for (const std::string& path : writable)
    rules.Add(kRuleWrite, path);
  rules.Add(kRuleWrite, "/dev/shm");
  rules.Add(kRuleDevice, "/dev");
  rules.Add(kRuleDevice, "/proc");
  return rules.Take();
}

}  // namespace native_runner
