#include "policy/firejail/firejail_extra_args.h"

#include <algorithm>
#include <array>
#include <string_view>

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

// They take away, or change nothing of what a layer stands for. With "=", "." or nothing after it.
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

}  // namespace native_runner
