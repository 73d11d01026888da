#include "policy/options/extra_args.h"

#include <array>
#include <string_view>

#include "policy/text/path.h"
#include "policy/text/quote.h"

namespace native_runner {
namespace {

enum class Effect { kNone, kSharesNet, kAddsCapability, kBinds, kBindsWritable, kMountsProc };

struct Known {
  std::string_view option;
  std::size_t operands;
  Effect effect = Effect::kNone;
};

constexpr std::array kKnown = {
    Known{"--share-net", 0, Effect::kSharesNet},
    Known{"--cap-add", 1, Effect::kAddsCapability},
    Known{"--bind", 2, Effect::kBindsWritable},
    Known{"--bind-try", 2, Effect::kBindsWritable},
    Known{"--dev-bind", 2, Effect::kBindsWritable},
    Known{"--dev-bind-try", 2, Effect::kBindsWritable},
    Known{"--ro-bind", 2, Effect::kBinds},
    Known{"--ro-bind-try", 2, Effect::kBinds},
    Known{"--proc", 1, Effect::kMountsProc},
    Known{"--unshare-all", 0},
    Known{"--unshare-user", 0},
    Known{"--unshare-ipc", 0},
    Known{"--unshare-pid", 0},
    Known{"--unshare-net", 0},
    Known{"--unshare-uts", 0},
    Known{"--unshare-cgroup", 0},
    Known{"--cap-drop", 1},
    Known{"--uid", 1},
    Known{"--gid", 1},
    Known{"--hostname", 1},
    Known{"--setenv", 2},
    Known{"--unsetenv", 1},
    Known{"--clearenv", 0},
    Known{"--lock-file", 1},
    Known{"--remount-ro", 1},
    Known{"--exec-label", 1},
    Known{"--file-label", 1},
    Known{"--dev", 1},
    Known{"--tmpfs", 1},
    Known{"--mqueue", 1},
    Known{"--dir", 1},
    Known{"--symlink", 2},
    Known{"--perms", 1},
    Known{"--size", 1},
    Known{"--chmod", 2},
};

constexpr std::array kSystem = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/dev"};

const Known* Find(std::string_view option) {
  for (const Known& known : kKnown) {
    if (known.option == option) return &known;
  }
  return nullptr;
}

// Whether a mount at `target` replaces, or lies in, what is otherwise read-only.
bool TouchesSystem(std::string_view target) {
  for (const char* directory : kSystem) {
    if (PathCovers(target, directory) || PathCovers(directory, target)) return true;
  }
  return false;
}

LayerSet Undone(const Known& known, const std::string* operands) {
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

std::optional<Error> CheckExtraArgs(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size();) {
    const Known* known = Find(words[i]);
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

std::vector<ExtraArg> ExtraArgs(const std::vector<std::string>& words) {
  std::vector<ExtraArg> args;
  for (std::size_t i = 0; i < words.size();) {
    const Known* known = Find(words[i]);
    if (known == nullptr || words.size() - i <= known->operands)
      break;  // CheckExtraArgs refused it
    ExtraArg arg{words[i], known->effect != Effect::kNone, Undone(*known, words.data() + i + 1)};
    for (std::size_t operand = 1; operand <= known->operands; ++operand)
      arg.text += " " + words[i + operand];
    i += known->operands + 1;
    args.push_back(std::move(arg));
  }
  return args;
}

}  // namespace native_runner
