#include "supervise/backends/firejail_backend.h"

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
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/firejail.h"
#include "policy/result.h"
#include "policy/text/path.h"
#include "protocol/identity.h"
#include "protocol/order.h"
#include "supervise/host/host.h"
#include "supervise/os/file.h"
#include "supervise/os/file_threads.h"

namespace native_runner {
namespace {

constexpr std::size_t kAccountBytes = std::size_t{64} << 10U;

std::optional<std::string> ResolvedPath(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  NotePath(path);
  if (realpath(path.c_str(), real.data()) == nullptr) return std::nullopt;
  return real.data();
}

// Uses statx(2), since older glibc versions do not export lstat(2).
bool Look(const std::string& path, struct statx* status) {
  NotePath(path);
  return statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE | STATX_INO, status) == 0;
}

struct Account {
  std::string home;
  std::string shell;
};

// Returns this user's account; nullopt if there is none.
std::optional<Account> OwnAccount() {
  const auto text = std::make_unique<std::array<char, kAccountBytes>>();
  passwd account{};
  passwd* found = nullptr;
  if (getpwuid_r(getuid(), &account, text->data(), text->size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  const auto text_of = [](const char* field) { return std::string(field == nullptr ? "" : field); };
  const std::string home = text_of(account.pw_dir);
  return Account{home.empty() ? home : ResolvedPath(home).value_or(home),
                 text_of(account.pw_shell)};
}

// Skips links: a link's target lies in another entry.
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
    if (auto real = ResolvedPath(directory)) {
      // On a merged /usr most defaults lie in another directory.
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
  const auto device = makedev(status.stx_dev_major, status.stx_dev_minor);  // in stat(2)'s form
  return kind + NamedFile({device, status.stx_ino}, path);
}

// Collects the host facts that a Firejail plan depends on; some dozen cheap system calls, repeated
// for each run. kSetup if a directory that the policy names does not exist, or if the user has no
// account, without which Firejail does nothing (getpwuid(3)).
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
  TRY_ASSIGN(auto entries, RootEntries());
  facts.entries = std::move(entries);
  if (auto error =
          AddExisting(policy.read_dirs, policy.read_dirs_named, "fsReadDirs", &facts.read_dirs))
    return *error;
  TRY(AddExisting(policy.write_dirs, true, "fsWriteDirs", &facts.write_dirs));
  facts.secrets = std::move(secrets.files);
  for (std::string& directory : secrets.directories)
    facts.secrets.push_back(std::move(directory));
  return facts;
}

// Returns the rules with which the launcher checks that a plan is in force: the host's current
// files at these paths (order.h). A path that the host lacks needs no rule.
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

constexpr int kImageDescriptor = 5;  // next to the control socket, 3

constexpr const char* kInstall =
    "install Firejail (apt-get install firejail, dnf install firejail, pacman -S firejail, apk add "
    "firejail) or name its absolute path in firejailPath";

// Returns the number of one of our own namespaces; 0 if it can't be read.
std::uint64_t NumberOf(const char* link) {
  std::array<char, 64> text{};
  return readlink(link, text.data(), text.size() - 1) <= 0 ? 0 : NamespaceNumber(text.data());
}

// Makes the launcher compare its namespaces with the host's and refuse to run in the host's own.
void CheckNamespaces(Network network, Preparation* preparation) {
  OrderHeader& order = preparation->order;
  order.flags |= kOrderOwnMountNamespace | kOrderOwnPidNamespace;
  order.mount_namespace = NumberOf("/proc/self/ns/mnt");
  order.pid_namespace = NumberOf("/proc/self/ns/pid");
  order.network_namespace = NumberOf("/proc/self/ns/net");
  auto& layers = preparation->record.layers;
  layers.Add(Layer::kMountNamespace);
  layers.Add(Layer::kPidNamespace);
  if (network == Network::kAllow) return;
  order.flags |= kOrderOwnNetworkNamespace;
  layers.Add(Layer::kNetworkNamespace);
}

// Drops the claims and checks that the caller's options undo, and records those options.
void UndoOpened(const std::vector<std::string>& extra_args, Preparation* preparation) {
  auto& layers = preparation->record.layers;
  for (const ExtraArg& arg : FirejailExtraArgs(extra_args)) {
    if (!arg.opens) continue;
    layers.Remove(arg.undone);
    if (arg.undone.Has(Layer::kNoCapabilities)) preparation->order.flags &= ~kOrderNoCapabilities;
    if (arg.undone.Has(Layer::kNetworkNamespace))
      preparation->order.flags &= ~kOrderOwnNetworkNamespace;
    layers.AddOpened(arg.text);
  }
}

void CheckFiles(const FirejailPlan& plan, const std::string& workspace, Preparation* preparation) {
  const auto& layers = preparation->record.layers;
  auto& rules = preparation->rules;
  rules.push_back(ShownRule(workspace));
  if (layers.Has(Layer::kHiddenFiles)) {
    auto hidden = HiddenRules(plan.hidden);
    std::move(hidden.begin(), hidden.end(), std::back_inserter(rules));
  }
  if (layers.Has(Layer::kReadOnlyRoot)) {
    auto read_only = ReadOnlyRules(plan.read_only);
    std::move(read_only.begin(), read_only.end(), std::back_inserter(rules));
  }
  preparation->order.flags |= kOrderCheckFiles;
}

}  // namespace

RunRecord FirejailBackend::Record(const ExecRequest& request,
                                  const std::vector<std::string>& options) const {
  RunRecord record{"firejail", policy_.firejail_path, options, policy_.shadow_dir, {}};
  record.argv.insert(record.argv.end(), request.argv.begin(), request.argv.end());
  return record;
}

RunRecord FirejailBackend::Unprepared(const ExecRequest& request) const {
  return Record(request, FirejailOptions(policy_, {}));
}

void FirejailBackend::Prepare(const ExecRequest& request, SupervisorContext& shared,
                              Ready ready) const {
  PlanFromHost(
      request, shared,
      [this, &shared](const ExecRequest& asked, const HostView& view) {
        return Plan(asked, shared, view);
      },
      std::move(ready));
}

Result<Preparation> FirejailBackend::Plan(const ExecRequest& request,
                                          const SupervisorContext& shared,
                                          const HostView& view) const {
  const Programs& programs = *shared.programs;
  auto program = FindProgram(policy_.firejail_path, programs.search_path(), &programs.looks());
  if (!program) {
    if (program.error().code == ErrorCode::kUnavailable) program.error().fix = kInstall;
    return program.error();
  }
  TRY_ASSIGN(auto relative, WorkspaceRelative(request.cwd, "NativeRunner.exec"));
  TRY_ASSIGN(auto workspace, OpenWorkspace(policy_.shadow_dir));

  FirejailPlan plan;
  FirejailFacts facts;
  const bool plans = !policy_.profile;
  if (plans) {
    TRY_ASSIGN(auto looked, LookForFirejail(policy_, workspace.path, view.host.FindSecrets()));
    facts = std::move(looked);
    TRY_ASSIGN(auto planned, PlanFirejail(facts));
    plan = std::move(planned);
  }
  const std::vector<std::string> options = FirejailOptions(policy_, plan);

  Preparation preparation;
  SpawnPlan& spawns = preparation.plan.emplace<SpawnPlan>();
  preparation.scene =
      std::make_shared<const DenialScene>(DenialScene{.wall = DenialScene::Wall::kFirejail,
                                                      .workspace = workspace.path,
                                                      .network = policy_.network});
  preparation.cwd = JoinPath(workspace.path, relative);
  preparation.record = Record(request, options);
  preparation.record.cwd = preparation.cwd;
  CheckNamespaces(policy_.network, &preparation);
  preparation.order.flags |= kOrderNoNewPrivs | kOrderSeccomp | kOrderNoCapabilities;
  auto& layers = preparation.record.layers;
  layers.Add(Layer::kNoCapabilities);
  layers.Add(Layer::kNoNewPrivs);
  layers.Add(Layer::kSeccomp);
  if (plans) {
    layers.Add(Layer::kHiddenFiles);
    layers.Add(Layer::kReadOnlyRoot);
    if (!facts.secrets.empty()) layers.Add(Layer::kSecretsMasked);
  }
  UndoOpened(policy_.extra_args, &preparation);
  if (plans) CheckFiles(plan, workspace.path, &preparation);
  preparation.places = {.watched = {workspace.path},
                        .uncountable = "Firejail's /tmp can't be looked at from outside"};
  for (const std::string& directory : policy_.write_dirs)
    preparation.places.watched.push_back(directory);
  TRY(ApplyLimits(request.limits, shared.cgroups, false, &preparation));
  TRY(ApplyRequired(policy_.required, &preparation));

  SpawnOptions& spawn = spawns.spawn;
  spawn.path = *program;
  spawn.argv = {"firejail"};
  spawn.argv.insert(spawn.argv.end(), options.begin(), options.end());
  spawn.argv.push_back("/proc/self/fd/" + std::to_string(kImageDescriptor));
  spawn.inherited.push_back({shared.launcher.get(), kImageDescriptor});
  return preparation;
}

}  // namespace native_runner
