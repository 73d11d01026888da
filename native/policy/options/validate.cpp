#include "policy/options/validate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "policy/options/devices.h"
#include "policy/text/path.h"
#include "policy/text/text.h"

namespace native_runner {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kShortestPart = 3;

std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      plain += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      plain += c;
    }
  }
  return plain;
}

std::string_view LastPart(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::size_t Distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

bool IsPart(const std::string& part, const std::string& whole) {
  return part.size() >= kShortestPart && whole.find(part) != std::string::npos;
}

}  // namespace

std::string_view NearestName(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > kLongestName) return {};
  const std::string plain = Plain(name);
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string_view each : known) {
    const std::size_t distance = Distance(plain, Plain(LastPart(each)));
    if (distance >= least) continue;
    least = distance;
    nearest = each;
  }
  if (!nearest.empty()) return nearest;
  for (const std::string_view each : known) {
    const std::string other = Plain(LastPart(each));
    if (IsPart(plain, other) || IsPart(other, plain)) return each;
  }
  return {};
}

Error UnknownField(std::string_view name, std::string_view place,
                   std::span<const std::string_view> known) {
  const std::string quoted = QuotedShort(name);
  std::string message = "Unknown field " + quoted + " in `" + std::string(place) + "`";
  const std::string_view nearest = NearestName(name, known);
  if (!nearest.empty()) {
    message += "; did you mean `" + std::string(nearest) + "`?";
    return {ErrorCode::kInvalidValue, std::move(message), ""};
  }
  std::string_view before = "; there are ";
  for (const std::string_view each : known) {
    if (each.find('.') != std::string_view::npos) continue;
    message += std::string(before) + "`" + std::string(each) + "`";
    before = ", ";
  }
  return {ErrorCode::kInvalidValue, std::move(message), ""};
}

namespace {

constexpr double kMaxSafeInteger = 9007199254740991.0;  // 2^53 - 1
constexpr double kMaxTimeoutMs = 9007199254740992.0;    // 2^53

// Returns "Expected `field` to be WANTED, got GOT".
std::string Expected(std::string_view field, std::string_view wanted, std::string_view got) {
  std::string message = "Expected `";
  message += field;
  message += "` to be ";
  message += wanted;
  message += ", got ";
  message += got;
  return message;
}

Error Invalid(std::string_view field, std::string_view wanted, std::string_view value) {
  return {.code = ErrorCode::kInvalidValue,
          .message = Expected(field, wanted, QuotedShort(value)),
          .fix = ""};
}

bool HasNul(std::string_view value) {
  return value.find('\0') != std::string_view::npos;
}

std::string Element(std::string_view list, std::size_t index) {
  return std::string(list) + '[' + std::to_string(index) + ']';
}

// Prints a number almost as JavaScript does, for a message.
std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

Error OutOfRange(std::string_view field, std::string_view wanted, double value) {
  return {.code = ErrorCode::kOutOfRange,
          .message = Expected(field, wanted, NumberText(value)),
          .fix = ""};
}

std::optional<Error> CheckName(std::string_view name, std::string_view field) {
  if (name.empty() || HasNul(name) || name.find('=') != std::string_view::npos) {
    return Invalid(field, "a variable's name, not empty, without '=' or NUL bytes", name);
  }
  return std::nullopt;
}

std::optional<Error> CheckEnvironment(const EnvironmentPolicy& policy) {
  for (std::size_t i = 0; i < policy.names.size(); ++i) {
    TRY(CheckName(policy.names[i], Element("envPolicy", i)));
  }
  return std::nullopt;
}

// Checks only that a name is not empty and has no NUL; the backends know which layers exist.
std::optional<Error> CheckRequired(const std::vector<std::string>& layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].empty() || HasNul(layers[i])) {
      return Invalid(Element("required", i), "a layer's name, not empty, without NUL bytes",
                     layers[i]);
    }
  }
  return std::nullopt;
}

// A sandbox without a /proc of its own must not show the host's, and needs another way to end its
// processes.
std::optional<Error> CheckProc(const BubblewrapPolicy& policy) {
  if (policy.with_proc) return std::nullopt;
  if (policy.isolation == Isolation::kCompat) {
    return Error{ErrorCode::kInvalidValue,
                 Expected("procBind", "true with isolation \"compat\"", "false"), ""};
  }
  for (const std::string& path : policy.ro_binds) {
    if (!SamePath(path, "/")) continue;
    return Error{ErrorCode::kInvalidValue,
                 Expected("procBind", "true with \"/\" among roBinds", "false"), ""};
  }
  for (const HostMount& mount : policy.mounts) {
    if (!PathCovers(mount.host_path, "/proc") && !PathCovers("/proc", mount.host_path)) continue;
    return Error{ErrorCode::kInvalidValue,
                 Expected("procBind", "true with the host's /proc among mounts", "false"), ""};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> CheckText(std::string_view value, std::string_view field) {
  if (HasNul(value)) return Invalid(field, "a string without NUL bytes", value);
  return std::nullopt;
}

std::optional<Error> CheckPath(std::string_view value, std::string_view field) {
  if (value.empty()) return Invalid(field, "a path that is not empty", value);
  return CheckText(value, field);
}

std::optional<Error> CheckAbsolutePath(std::string_view value, std::string_view field) {
  TRY(CheckPath(value, field));
  if (!value.starts_with('/')) return Invalid(field, "an absolute path", value);
  return std::nullopt;
}

std::optional<Error> CheckPlainPath(std::string_view value, std::string_view field) {
  TRY(CheckAbsolutePath(value, field));
  if (HasParentComponent(value)) return Invalid(field, "a path without '..'", value);
  return std::nullopt;
}

// posix_spawn and the search on PATH take a bare name or an absolute path. A path relative to the
// host's working directory would name another program after a chdir.
std::optional<Error> CheckProgram(std::string_view path, std::string_view field) {
  TRY(CheckPath(path, field));
  if (path.find('/') != std::string_view::npos && !path.starts_with('/')) {
    return Invalid(field, "a program's name or an absolute path", path);
  }
  return std::nullopt;
}

std::optional<Error> CheckAbsolutePaths(const std::vector<std::string>& paths,
                                        std::string_view list) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    TRY(CheckPlainPath(paths[i], Element(list, i)));
  }
  return std::nullopt;
}

std::optional<Error> CheckArgv(const std::vector<std::string>& argv) {
  if (argv.empty() || argv.front().empty()) {
    return Error{.code = ErrorCode::kInvalidValue,
                 .message = "NativeRunner.exec: argv[0] is required",
                 .fix = ""};
  }
  for (std::size_t i = 0; i < argv.size(); ++i) {
    TRY(CheckText(argv[i], Element("argv", i)));
  }
  return std::nullopt;
}

// Never puts the value into a message, because it may be a secret.
std::optional<Error> CheckVariable(const Variable& variable) {
  TRY(CheckName(variable.first, "env"));
  if (HasNul(variable.second)) {
    return Error{
        .code = ErrorCode::kInvalidValue,
        .message = "Expected `env." + variable.first + "` to be a string without NUL bytes",
        .fix = ""};
  }
  return std::nullopt;
}

namespace {

// A workspace at its own path hides what is there otherwise, and nothing may hide the sandbox's
// own.
std::optional<Error> CheckWorkspacePath(const BubblewrapPolicy& policy) {
  const std::string& path = policy.workspace_path;
  if (path == kWorkspace) return std::nullopt;
  TRY(CheckPlainPath(path, "shadowDir"));
  const auto refused = [&path](const std::string& wanted) {
    return Error{ErrorCode::kInvalidValue,
                 "Expected `shadowDir` to be " + wanted + " with `workspacePath: \"same\"`, got " +
                     QuotedShort(path),
                 "leave out `workspacePath`: the workspace is then at /workspace"};
  };
  for (const char* own : {"/proc", "/dev", "/sys", kLauncherFile}) {
    if (PathCovers(own, path) || PathCovers(path, own))
      return refused(std::string("a path neither in nor above ") + own);
  }
  if (PathCovers(path, "/tmp")) return refused("a path that does not hide /tmp");
  for (const std::string& bind : policy.ro_binds) {
    if (PathCovers(path, bind))
      return refused("a path that does not hide " + bind + ", which is mounted read-only,");
  }
  return std::nullopt;
}

std::optional<Error> CheckRoot(const BubblewrapPolicy& policy) {
  if (!policy.root_image.empty()) TRY(CheckText(policy.root_image, "root.image"));
  const std::string& directory = policy.root_directory;
  if (directory.empty()) return std::nullopt;
  TRY(CheckPlainPath(directory, "root.directory"));
  if (SamePath(directory, "/")) {
    return Invalid("root.directory", "the directory of another root file system", directory);
  }
  return std::nullopt;
}

// Checks `home` and `tools`.
template <typename Policy>
std::optional<Error> CheckHomeAndTools(const Policy& policy) {
  if (policy.home == Home::kDirectory) {
    TRY(CheckPlainPath(policy.home_directory, "home.directory"));
  }
  TRY(CheckAbsolutePaths(policy.tool_paths, "tools.paths"));
  return CheckAbsolutePaths(policy.tool_excludes, "tools.exclude");
}

}  // namespace

std::optional<Error> CheckPolicy(const BubblewrapPolicy& policy) {
  TRY(CheckProgram(policy.bwrap_path, "bwrapPath"));
  TRY(CheckPath(policy.shadow_dir, "shadowDir"));
  TRY(CheckRoot(policy));
  TRY(CheckAbsolutePaths(policy.ro_binds, "roBinds"));
  TRY(CheckWorkspacePath(policy));
  TRY(CheckHostMounts(policy.mounts, policy.workspace_path));
  TRY(CheckDevices(policy.devices, policy.with_dev ? DevicesOf::kOwnDev : DevicesOf::kEmptyDev));
  TRY(CheckExtraArgs(policy.extra_args));
  if (policy.network == Network::kByDomain) {
    TRY(CheckKeepsNetwork(policy.extra_args));
  }
  TRY(CheckProc(policy));
  TRY(CheckRequired(policy.required));
  TRY(CheckHomeAndTools(policy));
  return CheckEnvironment(policy.environment);
}

std::optional<Error> CheckPolicy(const LandlockPolicy& policy) {
  TRY(CheckPath(policy.shadow_dir, "shadowDir"));
  TRY(CheckAbsolutePaths(policy.read_dirs, "fsReadDirs"));
  TRY(CheckAbsolutePaths(policy.write_dirs, "fsWriteDirs"));
  TRY(CheckDevices(policy.devices, DevicesOf::kHostPaths));
  TRY(CheckRequired(policy.required));
  TRY(CheckHomeAndTools(policy));
  return CheckEnvironment(policy.environment);
}

std::optional<Error> CheckPolicy(const FirejailPolicy& policy) {
  TRY(CheckProgram(policy.firejail_path, "firejailPath"));
  TRY(CheckPath(policy.shadow_dir, "shadowDir"));
  // Firejail would look for a relative profile in several directories.
  if (policy.profile) {
    TRY(CheckAbsolutePath(*policy.profile, "profile"));
  }
  TRY(CheckAbsolutePaths(policy.read_dirs, "fsReadDirs"));
  TRY(CheckAbsolutePaths(policy.write_dirs, "fsWriteDirs"));
  if (policy.profile && (policy.read_dirs_named || !policy.write_dirs.empty())) {
    return Invalid("profile",
                   "left out, since only without one `fsReadDirs` and `fsWriteDirs` hold",
                   *policy.profile);
  }
  for (std::size_t i = 0; i < policy.extra_args.size(); ++i) {
    const std::string& argument = policy.extra_args[i];
    if (!argument.starts_with("--") || argument == "--" || HasNul(argument)) {
      return Invalid(Element("extraArgs", i), "an option of Firejail's that starts with --",
                     argument);
    }
  }
  TRY(CheckRequired(policy.required));
  return CheckEnvironment(policy.environment);
}

std::optional<Error> CheckPolicy(const LocalPolicy& policy) {
  TRY(CheckPath(policy.shadow_dir, "shadowDir"));
  return CheckEnvironment(policy.environment);
}

Result<std::uint64_t> LimitValue(double value, std::string_view field) {
  // Written so that NaN fails too.
  if (!(value >= 0 && value <= kMaxSafeInteger) || std::trunc(value) != value) {
    return OutOfRange(field, "an integer from 0 to 9007199254740991", value);
  }
  return static_cast<std::uint64_t>(value);
}

Result<std::optional<std::uint64_t>> TimeoutValue(double value) {
  using Timeout = std::optional<std::uint64_t>;
  if (!(value > 0)) return OutOfRange("limits.timeoutMs", "a number greater than 0", value);
  if (value > kMaxTimeoutMs) return Timeout{};
  return Timeout{static_cast<std::uint64_t>(std::ceil(value))};
}

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
