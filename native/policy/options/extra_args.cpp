#include "policy/options/extra_args.h"

#include <array>
#include <string_view>

#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

enum class Effect { kNone, kSharesNet, kAddsCapability, kBinds, kBindsWritable, kMountsProc };

struct KnownOption {
  std::string_view option;
  std::size_t operands;
  Effect effect = Effect::kNone;
};

constexpr std::array kKnown = {
    KnownOption{"--share-net", 0, Effect::kSharesNet},
    KnownOption{"--cap-add", 1, Effect::kAddsCapability},
    KnownOption{"--bind", 2, Effect::kBindsWritable},
    KnownOption{"--bind-try", 2, Effect::kBindsWritable},
    KnownOption{"--dev-bind", 2, Effect::kBindsWritable},
    KnownOption{"--dev-bind-try", 2, Effect::kBindsWritable},
    KnownOption{"--ro-bind", 2, Effect::kBinds},
    KnownOption{"--ro-bind-try", 2, Effect::kBinds},
    KnownOption{"--proc", 1, Effect::kMountsProc},
    KnownOption{"--unshare-all", 0},
    KnownOption{"--unshare-user", 0},
    KnownOption{"--unshare-ipc", 0},
    KnownOption{"--unshare-pid", 0},
    KnownOption{"--unshare-net", 0},
    KnownOption{"--unshare-uts", 0},
    KnownOption{"--unshare-cgroup", 0},
    KnownOption{"--cap-drop", 1},
    KnownOption{"--uid", 1},
    KnownOption{"--gid", 1},
    KnownOption{"--hostname", 1},
    KnownOption{"--setenv", 2},
    KnownOption{"--unsetenv", 1},
    KnownOption{"--clearenv", 0},
    KnownOption{"--lock-file", 1},
    KnownOption{"--remount-ro", 1},
    KnownOption{"--exec-label", 1},
    KnownOption{"--file-label", 1},
    KnownOption{"--dev", 1},
    KnownOption{"--tmpfs", 1},
    KnownOption{"--mqueue", 1},
    KnownOption{"--dir", 1},
    KnownOption{"--symlink", 2},
    KnownOption{"--perms", 1},
    KnownOption{"--size", 1},
    KnownOption{"--chmod", 2},
};

constexpr std::array kSystem = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/dev"};

const KnownOption* Find(std::string_view option) {
  for (const KnownOption& known : kKnown) {
    if (known.option == option) return &known;
  }
  return nullptr;
}

LayerSet Undone(const KnownOption& known, const std::string* operands) {
  LayerSet undone;
  switch (known.effect) {
    case Effect::kNone:
      break;
    case Effect::kSharesNet:
      undone.Add(Layer::kNetworkNamespace);
      break;
    case Effect::kAddsCapability:
      undone.Add(Layer::kNoCapabilities);
      break;
    case Effect::kMountsProc:
      undone = {Layer::kReadOnlyRoot, Layer::kNoProc};
      break;
    case Effect::kBindsWritable:
      if (TouchesSystem(operands[0]) || TouchesSystem(operands[1]))
        undone.Add(Layer::kReadOnlyRoot);
      [[fallthrough]];
    case Effect::kBinds:
      if (PathCovers(operands[0], "/etc") || PathCovers("/etc", operands[0])) {
        undone.Add(Layer::kSecretsMasked);
      }
      if (PathCovers(operands[0], "/proc") || PathCovers("/proc", operands[0])) {
        undone.Add(Layer::kNoProc);
      }
  }
  return undone;
}

Error Invalid(std::size_t index, const char* wanted, const std::string& got) {
  return {.code = ErrorCode::kInvalidValue,
          .message = "Expected `extraArgs[" + std::to_string(index) + "]` to be " + wanted +
                     ", got " + QuotedShort(got),
          .fix = ""};
}

}  // namespace

bool TouchesSystem(std::string_view target) {
  for (const char* directory : kSystem) {
    if (PathCovers(target, directory) || PathCovers(directory, target)) return true;
  }
  return false;
}

std::optional<Error> CheckExtraArgs(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size();) {
    const KnownOption* known = Find(words[i]);
    if (known == nullptr) return Invalid(i, "an option of bwrap's that can be passed on", words[i]);
    if (words.size() - i <= known->operands) {
      return Invalid(i, "followed by its operands", words[i]);
    }
    for (std::size_t end = i + known->operands; i <= end; ++i) {
      if (words[i].find('\0') != std::string::npos)
        return Invalid(i, "without NUL bytes", words[i]);
    }
  }
  return std::nullopt;
}

std::optional<Error> CheckKeepsNetwork(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size();) {
    const std::string& word = words[i];
    if (word == "--share-net" || word == "--unshare-net" || word == "--unshare-all") {
      return Invalid(i, "an option that leaves a network by domain as it is", word);
    }
    const KnownOption* known = Find(word);
    i += known == nullptr ? 1 : known->operands + 1;
  }
  return std::nullopt;
}

std::vector<ExtraArg> ExtraArgs(const std::vector<std::string>& words) {
  std::vector<ExtraArg> args;
  for (std::size_t i = 0; i < words.size();) {
    const KnownOption* known = Find(words[i]);
    if (known == nullptr || words.size() - i <= known->operands)
      break;  // CheckExtraArgs has refused it
    ExtraArg arg{words[i], known->effect != Effect::kNone, Undone(*known, words.data() + i + 1)};
    for (std::size_t operand = 1; operand <= known->operands; ++operand)
      arg.text += " " + words[i + operand];
    i += known->operands + 1;
    args.push_back(std::move(arg));
  }
  return args;
}

}  // namespace native_runner
