#include "supervise/runtimes/firejail_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "policy/text/path.h"
#include "protocol/order.h"
#include "supervise/os/statx.h"

namespace native_runner {
namespace {

constexpr std::size_t kAccountBytes = std::size_t{64} << 10U;

std::optional<std::string> RealPath(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  if (realpath(path.c_str(), real.data()) == nullptr) return std::nullopt;
  return real.data();
}

// statx(2) instead of lstat(2), whose name an older glibc does not have.
bool Look(const std::string& path, struct statx* status) {
  return statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO, status) == 0;
}

struct Account {
  std::string home;
  std::string shell;
};

// Ours; nullopt where there is none.
std::optional<Account> OwnAccount() {
  const auto text = std::make_unique<std::array<char, kAccountBytes>>();
  passwd account{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &account, text->data(), text->size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  const auto text_of = [](const char* field) { return std::string(field == nullptr ? "" : field); };
  const std::string home = text_of(account.pw_dir);
  return Account{home.empty() ? home : RealPath(home).value_or(home), text_of(account.pw_shell)};
}

// Of a link it is its target that counts, which lies in another entry.
Result<std::vector<std::string>> RootEntries() {
  std::vector<std::string> entries;
  DIR* root = opendir("/");
  if (root == nullptr)
    return Error{ErrorCode::kSetup, std::string("cannot list /: ") + std::strerror(errno), ""};
  while (const dirent* entry = readdir(root)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    std::string path("/");
    path += name;
    struct statx status {};
    if (Look(path, &status) && S_ISLNK(status.stx_mode)) continue;
    entries.push_back(std::move(path));
  }
  closedir(root);
  return entries;
}

std::optional<Error> AddExisting(const std::vector<std::string>& directories, bool named,
                                 const char* field, std::vector<std::string>* existing) {
  for (const std::string& directory : directories) {
    if (auto real = RealPath(directory)) {
      // On a merged /usr most defaults lie in another.
      const auto covers = [&real](const std::string& other) { return PathCovers(other, *real); };
      if (std::none_of(existing->begin(), existing->end(), covers))
        existing->push_back(std::move(*real));
    } else if (named) {
      return Error{ErrorCode::kSetup,
                   std::string(field) + " names \"" + directory + "\", which this host lacks",
                   std::string("remove it from ") + field + ", or create it"};
    }
  }
  return std::nullopt;
}

std::string IdentityRule(char kind, const struct statx& status, const std::string& path) {
  const auto device = makedev(status.stx_dev_major, status.stx_dev_minor);  // as stat(2) has it
  return kind + std::to_string(device) + ":" + std::to_string(status.stx_ino) + ":" + path;
}

}  // namespace

Result<FirejailFacts> LookForFirejail(const FirejailPolicy& policy, const std::string& workspace,
                                      Secrets secrets) {
  FirejailFacts facts;
  facts.workspace = workspace;
  facts.is_root = geteuid() == 0;
  auto account = OwnAccount();
  if (!account) {
    return Error{ErrorCode::kSetup,
                 "Firejail serves only users with an account, and uid " + std::to_string(getuid()) +
                     " has none (getpwuid)",
                 "run the host as a user who is in /etc/passwd, or use another runtime"};
  }
  facts.home = std::move(account->home);
  facts.shell = std::move(account->shell);
  auto entries = RootEntries();
  if (!entries) return entries.error();
  facts.entries = std::move(*entries);
  if (auto error =
          AddExisting(policy.read_dirs, policy.read_dirs_named, "fsReadDirs", &facts.read_dirs))
    return *error;
  if (auto error = AddExisting(policy.write_dirs, true, "fsWriteDirs", &facts.write_dirs))
    return *error;
  facts.secrets = std::move(secrets.files);
  for (std::string& directory : secrets.directories)
    facts.secrets.push_back(std::move(directory));
  return facts;
}

std::vector<std::string> HiddenRules(const std::vector<std::string>& paths) {
  std::vector<std::string> rules;
  for (const std::string& path : paths) {
    struct statx status {};
    if (Look(path, &status)) rules.push_back(IdentityRule(kRuleHidden, status, path));
  }
  return rules;
}

std::vector<std::string> ReadOnlyRules(const std::vector<std::string>& paths) {
  std::vector<std::string> rules;
  rules.reserve(paths.size());
  for (const std::string& path : paths)
    rules.push_back(kRuleReadOnly + path);
  return rules;
}

std::string ShownRule(const std::string& path) {
  struct statx status {};
  if (!Look(path, &status)) status = {};  // matches nothing: the launcher refuses
  return IdentityRule(kRuleShown, status, path);
}

}  // namespace native_runner
