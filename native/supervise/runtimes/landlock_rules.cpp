#include "supervise/runtimes/landlock_rules.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "policy/options/workspace_path.h"
#include "policy/text/path.h"
#include "protocol/order.h"

namespace native_runner {
namespace {

constexpr std::array kDevices = {"/dev/null",   "/dev/zero",    "/dev/full",
                                 "/dev/random", "/dev/urandom", "/dev/tty"};

bool Exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

std::string Rule(char kind, const std::string& path) {
  return kind + path;
}

// It is one, or lies in one.
bool IsSecret(const std::vector<std::string>& secrets, const std::string& path) {
  return std::any_of(secrets.begin(), secrets.end(),
                     [&path](const std::string& secret) { return PathCovers(secret, path); });
}

bool HoldsSecret(const std::vector<std::string>& secrets, const std::string& directory) {
  return std::any_of(secrets.begin(), secrets.end(), [&directory](const std::string& secret) {
    return PathCovers(directory, secret);
  });
}

void AddAround(const std::vector<std::string>& secrets, const std::string& path,
               std::vector<std::string>* rules) {
  if (IsSecret(secrets, path)) return;
  if (!HoldsSecret(secrets, path)) {
    rules->push_back(Rule(kRuleRead, path));
    return;
  }
  rules->push_back(Rule(kRuleList, path));
  DIR* entries = opendir(path.c_str());
  if (entries == nullptr) return;  // what we can't list, nobody is allowed
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string below = JoinPath(path == "/" ? "" : path, name);
    // A dangling link can't be opened; one that leads elsewhere is judged where it leads.
    std::array<char, PATH_MAX> real{};
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
      if (realpath(below.c_str(), real.data()) == nullptr) continue;
      const bool is_link = below != real.data();
      if (is_link && HoldsSecret(secrets, real.data())) continue;
      if (IsSecret(secrets, real.data())) continue;
    }
    AddAround(secrets, below, rules);
  }
  closedir(entries);
}

std::optional<Error> Missing(const std::vector<std::string>& directories, bool named,
                             const char* field, std::vector<std::string>* existing) {
  for (const std::string& directory : directories) {
    if (Exists(directory)) {
      existing->push_back(directory);
    } else if (named) {
      return Error{ErrorCode::kSetup,
                   std::string(field) + " names \"" + directory + "\", which this host lacks",
                   std::string("remove it from ") + field + ", or create it"};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> LandlockRules(const LandlockPolicy& policy, const Secrets& secrets,
                                               const std::string& workspace) {
  std::vector<std::string> reads;
  std::vector<std::string> writes;
  if (auto error = Missing(policy.read_dirs, policy.read_dirs_named, "fsReadDirs", &reads)) {
    return *error;
  }
  if (auto error = Missing(policy.write_dirs, policy.write_dirs_named, "fsWriteDirs", &writes)) {
    return *error;
  }
  std::vector<std::string> hidden = secrets.files;
  hidden.insert(hidden.end(), secrets.directories.begin(), secrets.directories.end());
  std::vector<std::string> rules;
  for (const std::string& directory : reads) {
    std::array<char, PATH_MAX> real{};
    AddAround(hidden, realpath(directory.c_str(), real.data()) != nullptr ? real.data() : directory,
              &rules);
  }
  for (const std::string& directory : writes)
    rules.push_back(Rule(kRuleWrite, directory));
  if (policy.read_workspace) rules.push_back(Rule(kRuleRead, workspace));
  if (policy.write_workspace) rules.push_back(Rule(kRuleWrite, workspace));
  for (const char* device : kDevices) {
    if (Exists(device)) rules.push_back(Rule(kRuleDevice, device));
  }
  return rules;
}

std::vector<std::string> LandlockRulesInside(const BubblewrapPolicy& policy) {
  std::vector<std::string> rules = {Rule(kRuleRead, "/"), Rule(kRuleWrite, kWorkspace),
                                    Rule(kRuleWrite, "/tmp")};
  for (const HostMount& mount : policy.mounts) {
    if (mount.writable) rules.push_back(Rule(kRuleWrite, mount.guest_path));
  }
  if (policy.with_dev) {
    rules.push_back(Rule(kRuleWrite, "/dev/shm"));
    rules.push_back(Rule(kRuleDevice, "/dev"));
  }
  if (policy.with_proc) rules.push_back(Rule(kRuleDevice, "/proc"));
  return rules;
}

}  // namespace native_runner
