#include "policy/firejail.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr LayerSet kFiles = {Layer::kHiddenFiles, Layer::kSecretsMasked};
constexpr LayerSet kReadOnly = {Layer::kReadOnlyRoot};
constexpr LayerSet kFilesAndReadOnly = {Layer::kHiddenFiles, Layer::kSecretsMasked,
                                        Layer::kReadOnlyRoot};
constexpr LayerSet kNetwork = {Layer::kNetworkNamespace};
constexpr LayerSet kCapabilities = {Layer::kNoCapabilities};

struct KnownOption {
  std::string_view option;  // up to its "="
  LayerSet undoes;
};

constexpr std::array kOpening = {
    KnownOption{"--noblacklist", kFiles},
    KnownOption{"--nowhitelist", kFiles},
    KnownOption{"--whitelist", kFiles},
    KnownOption{"--ignore", kFilesAndReadOnly},
    KnownOption{"--allusers", kFiles},
    KnownOption{"--keep-dev-shm", kFiles},
    KnownOption{"--read-write", kReadOnly},
    KnownOption{"--writable-etc", kReadOnly},
    KnownOption{"--writable-var", kReadOnly},
    KnownOption{"--writable-var-log", kReadOnly},
    KnownOption{"--writable-run-user", kFilesAndReadOnly},
    KnownOption{"--bind", kFilesAndReadOnly},
    KnownOption{"--chroot", kFilesAndReadOnly},
    KnownOption{"--profile", kFilesAndReadOnly},
    KnownOption{"--net", kNetwork},
    KnownOption{"--netns", kNetwork},
    KnownOption{"--interface", kNetwork},
    KnownOption{"--caps", kCapabilities},
    KnownOption{"--caps.keep", kCapabilities},
    KnownOption{"--caps.drop", kCapabilities},
};

// Options that take access away or do not weaken any layer. Followed by "=", "." or nothing.
constexpr std::array<std::string_view, 42> kHarmless = {"--apparmor",
                                                        "--blacklist",
                                                        "--cpu",
                                                        "--dbus-system",
                                                        "--dbus-user",
                                                        "--debug",
                                                        "--disable-mnt",
                                                        "--dns",
                                                        "--env",
                                                        "--hostname",
                                                        "--hosts-file",
                                                        "--keep-var-tmp",
                                                        "--machine-id",
                                                        "--memory-deny-write-execute",
                                                        "--name",
                                                        "--nice",
                                                        "--no3d",
                                                        "--nodbus",
                                                        "--nodvd",
                                                        "--noexec",
                                                        "--nogroups",
                                                        "--noinput",
                                                        "--noprinters",
                                                        "--noroot",
                                                        "--nosound",
                                                        "--notv",
                                                        "--nou2f",
                                                        "--novideo",
                                                        "--oom",
                                                        "--private",
                                                        "--private-bin",
                                                        "--private-cache",
                                                        "--private-etc",
                                                        "--private-lib",
                                                        "--private-opt",
                                                        "--private-srv",
                                                        "--protocol",
                                                        "--read-only",
                                                        "--restrict-namespaces",
                                                        "--rmenv",
                                                        "--seccomp",
                                                        "--tmpfs"};

const KnownOption* Find(std::string_view word) {
  const std::string_view option = word.substr(0, word.find('='));
  for (const KnownOption& known : kOpening) {
    if (known.option == option) return &known;
  }
  return nullptr;
}

bool IsHarmless(std::string_view word) {
  if (word == "--net=none" || word == "--caps.drop=all" || word.starts_with("--rlimit-"))
    return true;
  return std::any_of(kHarmless.begin(), kHarmless.end(), [word](std::string_view option) {
    if (!word.starts_with(option)) return false;
    const std::string_view rest = word.substr(option.size());
    return rest.empty() || rest[0] == '=' || rest[0] == '.';
  });
}

}  // namespace

std::vector<ExtraArg> FirejailExtraArgs(const std::vector<std::string>& words) {
  std::vector<ExtraArg> args;
  for (const std::string& word : words) {
    const bool opens = !IsHarmless(word);
    const KnownOption* known = opens ? Find(word) : nullptr;
    args.push_back({word, opens, known == nullptr ? LayerSet{} : known->undoes});
  }
  return args;
}

namespace {

// Characters that can't be in a path. Firejail refuses most of them in a file name
// (reject_meta_chars in its util.c) and treats `*`, `?` and `[` as patterns, which would show or
// hide other files.
constexpr std::string_view kSpecial = "\\&!?\"<>%^{};,*[]";

bool IsPlain(const std::string& path) {
  return std::none_of(path.begin(), path.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f || kSpecial.find(c) != std::string_view::npos;
  });
}

Error UnusablePathError(const std::string& path, const char* why) {
  return {ErrorCode::kSetup, "Firejail can't be told of " + QuotedShort(path) + ": " + why,
          "use another directory, or another runtime"};
}

class Planner {
 public:
  explicit Planner(const FirejailFacts& facts) : facts_(facts), shown_(facts.read_dirs) {
    shown_.insert(shown_.end(), facts.write_dirs.begin(), facts.write_dirs.end());
    shown_.push_back(facts.workspace);
  }

  Result<FirejailPlan> Plan() {
    TRY(CheckShell());
    TRY(CheckPaths());
    for (const std::string& entry : facts_.entries)
      Sort(entry);
    for (const std::string& path : shown_)
      Show(path);
    // Without these options a path shown in there could not be written, nor executed by an ordinary
    // user.
    if (HoldsShown("/var")) plan_.options.emplace_back("--writable-var");
    if (HoldsShown("/var/tmp")) plan_.options.emplace_back("--keep-var-tmp");
    plan_.options.emplace_back("--read-only=/");
    plan_.read_only.emplace_back("/");
    if (facts_.is_root) {
      for (const std::string& entry : emptied_)
        Add("--read-only=", entry);
      // Without these options root could write Firejail's own records of the host. Firejail's
      // working directory must stay writable.
      plan_.options.insert(plan_.options.end(),
                           {"--read-only=/run", "--read-write=/run/firejail/mnt",
                            "--read-only=/dev", "--read-write=/dev/shm"});
      plan_.read_only.emplace_back("/run/firejail");
    }
    for (const std::string& path : facts_.read_dirs) {
      Add("--read-only=", path);
      plan_.read_only.push_back(path);
    }
    for (const std::string& path : facts_.write_dirs)
      Write(path);
    Write(facts_.workspace);
    for (const std::string& entry : closed_)
      Add("--blacklist=", entry);
    for (const std::string& secret : facts_.secrets) {
      Add("--blacklist=", secret);
      plan_.hidden.push_back(secret);
    }
    HideHome();
    // Without this option Firejail starts in the host process's directory or, if that is hidden, in
    // the home directory, and gives up if that is hidden too.
    Add("--private-cwd=", facts_.workspace);
    return std::move(plan_);
  }

 private:
  void Add(const char* option, const std::string& path) { plan_.options.push_back(option + path); }

  bool IsShown(const std::string& path) const {
    return std::any_of(shown_.begin(), shown_.end(),
                       [&path](const std::string& shown) { return PathCovers(shown, path); });
  }
  bool HoldsShown(const std::string& path) const {
    return std::any_of(shown_.begin(), shown_.end(),
                       [&path](const std::string& shown) { return PathCovers(path, shown); });
  }

  // Firejail starts every program through the user's login shell.
  std::optional<Error> CheckShell() const {
    const std::string& shell = facts_.shell;
    if (!shell.ends_with("/nologin") && !shell.ends_with("/false")) return std::nullopt;
    return Error{
        ErrorCode::kSetup,
        "Firejail starts programs through the user's login shell, and " + shell + " starts none",
        "give the user another shell (chsh -s /bin/sh USER), or use another runtime"};
  }

  std::optional<Error> CheckPaths() const {
    for (const auto* list : {&facts_.entries, &facts_.secrets}) {
      for (const std::string& path : *list)
        if (!IsPlain(path))
          return UnusablePathError(path, "it has a special character in its name");
    }
    for (const std::string& path : shown_) {
      if (!IsPlain(path)) return UnusablePathError(path, "it has a special character in its name");
      if (path == "/") return UnusablePathError(path, "then nothing would be hidden");
      for (const char* own : {"/dev", "/proc"})
        if (PathCovers(own, path)) return UnusablePathError(path, "it makes that directory itself");
    }
    return std::nullopt;
  }

  // Decides how to treat an entry of the root directory.
  void Sort(const std::string& entry) {
    if (entry == "/proc" || IsShown(entry)) return;
    plan_.hidden.push_back(entry);
    const bool made_anew = entry == "/dev" || entry == "/tmp" || entry == "/run";
    if (made_anew) return;
    (HoldsShown(entry) ? emptied_ : closed_).push_back(entry);
  }

  void Show(const std::string& path) {
    const bool inside_hidden =
        std::any_of(plan_.hidden.begin(), plan_.hidden.end(),
                    [&path](const std::string& entry) { return PathCovers(entry, path); });
    if (inside_hidden) Add("--whitelist=", path);
  }

  // Makes a path writable. Firejail lets an ordinary user make only the user's own files writable,
  // so the option is used only if needed.
  void Write(const std::string& path) {
    const auto covers = [&path](const std::string& read) { return PathCovers(read, path); };
    const auto& reads = facts_.read_dirs;
    if (facts_.is_root || std::any_of(reads.begin(), reads.end(), covers)) {
      Add("--read-write=", path);
    }
  }

  // Firejail keeps the user's home directory even if its parent is replaced.
  void HideHome() {
    const std::string& home = facts_.home;
    const auto covers = [&home](const std::string& entry) { return PathCovers(entry, home); };
    if (home.empty() || home == "/" || IsShown(home)) return;
    if (std::any_of(closed_.begin(), closed_.end(), covers)) return;
    plan_.hidden.push_back(home);
    if (!HoldsShown(home) && IsPlain(home)) Add("--blacklist=", home);
  }

  const FirejailFacts& facts_;
  std::vector<std::string> shown_;
  std::vector<std::string> closed_;   // entries hidden as a whole
  std::vector<std::string> emptied_;  // entries replaced, since they hold something shown
  FirejailPlan plan_;
};

}  // namespace

Result<FirejailPlan> PlanFirejail(const FirejailFacts& facts) {
  return Planner(facts).Plan();
}

std::vector<std::string> FirejailOptions(const FirejailPolicy& policy, const FirejailPlan& plan) {
  std::vector<std::string> options = {
      "--quiet",         policy.profile ? "--profile=" + *policy.profile : "--noprofile",
      "--caps.drop=all", "--nonewprivs",
      "--ipc-namespace", "--deterministic-shutdown",
      "--keep-fd=3,5"};
  if (policy.network != Network::kAllow) options.emplace_back("--net=none");
  // These come first, since --noblacklist applies to the options after it.
  options.insert(options.end(), policy.extra_args.begin(), policy.extra_args.end());
  if (!policy.profile) {
    options.insert(options.end(), {"--private-dev", "--private-tmp", "--whitelist=/run/firejail"});
    options.insert(options.end(), plan.options.begin(), plan.options.end());
  }
  options.emplace_back("--");
  return options;
}

}  // namespace native_runner
