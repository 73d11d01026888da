#include "addon/convert/runner_options.h"

#include <memory>
#include <utility>

#include "addon/convert/run_input.h"
#include "policy/options/validate.h"
#include "policy/text/path.h"

namespace native_runner {
namespace {

// Reads a list of strings; empty if it was not given.
std::vector<std::string> ReadStrings(Fields& options, const char* key) {
  return options.Strings(key).value_or(std::vector<std::string>());
}

// Returns the policy, whose values are checked only if all types were right.
template <typename Policy>
Policy Checked(Fields& options, Policy policy) {
  if (!options.reader().failed()) options.reader().FailIf(CheckPolicy(policy));
  return policy;
}

// Options of several runners. `fallback` and strict isolation apply if nothing was given.
// ReadNetwork is for runners that can't have a network by domain; see ReadNetworkChoice.
Network ReadNetwork(Fields& options, Network fallback) {
  const auto value = options.Value("network");
  if (value && value->IsObject()) {  // neither opens the network nor ignores the rules
    options.Fail(
        "network", ErrorCode::kInvalidValue,
        R"("allow" or "deny" (by domain it is with BubblewrapNativeRunner and Bwrap only))",
        *value);
    return Network::kDeny;
  }
  const auto chosen = options.OneOf("network", {"allow", "deny"});
  if (!chosen) return fallback;
  return *chosen == 0 ? Network::kAllow : Network::kDeny;
}

Isolation ReadIsolation(Fields& options) {
  return options.OneOf("isolation", {"strict", "compat"}) == 1 ? Isolation::kCompat
                                                               : Isolation::kStrict;
}

EnvironmentPolicy ReadEnvironmentPolicy(Fields& options) {
  EnvironmentPolicy policy;
  const auto value = options.Value("envPolicy");
  if (!value) return policy;
  if (value->IsArray()) {
    policy.mode = EnvironmentPolicy::Mode::kNames;
    policy.names = ReadStrings(options, "envPolicy");
    return policy;
  }
  const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
  if (text == "scrub") return policy;
  if (text == "inherit") {
    policy.mode = EnvironmentPolicy::Mode::kInherit;
  } else if (text == "clean") {
    policy.mode = EnvironmentPolicy::Mode::kClean;
  } else {
    options.Fail("envPolicy", ErrorCode::kInvalidValue,
                 "\"scrub\", \"inherit\", \"clean\" or an array of variable names", *value);
  }
  return policy;
}

// Reads the read-only paths; the defaults if none were given.
void ReadRoBinds(Fields& options, BubblewrapPolicy& policy) {
  auto named = options.Strings("roBinds");
  policy.ro_binds_named = named.has_value();
  policy.ro_binds = std::move(named).value_or(DefaultRoBinds());
}

// Reads the root file system. What is bound and found of the host's own would not fit it.
void ReadRoot(Fields& options, BubblewrapPolicy& policy) {
  if (!options.Value("root")) return;
  options.Object("root", [&policy, &options](Fields& root) {
    policy.root_directory = root.String("directory").value_or("");
    policy.root_image = root.String("image").value_or("");
    const bool has_tag = root.String("tag").has_value();
    const bool has_env = root.Boolean("env").has_value();
    if (root.reader().failed()) return;
    if (policy.root_directory.empty() == policy.root_image.empty()) {
      options.reader().Fail({ErrorCode::kInvalidValue,
                             "Expected `root` to name either a `directory` or an `image`", ""});
    } else if (policy.root_image.empty() && (has_tag || has_env)) {
      options.reader().Fail({ErrorCode::kInvalidValue,
                             std::string("Expected `root.") + (has_tag ? "tag" : "env") +
                                 "` to be left out with a `directory`: it is about an image",
                             ""});
    }
  });
  if (policy.ro_binds_named && !options.reader().failed()) {
    options.reader().Fail({ErrorCode::kInvalidValue,
                           "Expected `roBinds` to be left out with `root`, which takes its place",
                           "show host paths by `mounts`"});
  }
  if (policy.tools != Tools::kNone && !options.reader().failed()) {
    options.reader().Fail({ErrorCode::kInvalidValue,
                           "Expected `tools` to be \"none\" or left out with `root`: the host's "
                           "tools need the host's libraries",
                           "show single paths by `mounts`"});
  }
}

// Reads entries that lib has made of others, each with a port.
std::vector<HostRule> ReadPlaces(Fields& termination, const char* key) {
  std::vector<HostRule> places;
  for (const std::string& text : termination.RequiredStrings(key)) {
    auto rule = ReadHostRule(text, termination.Label(key));
    if (rule) {
      places.push_back(std::move(rule.value()));
    } else {
      termination.reader().Fail(rule.error());
    }
  }
  return places;
}

std::shared_ptr<const TlsTermination> ReadTermination(Fields& network) {
  std::shared_ptr<TlsTermination> read;
  network.Object("termination", [&read](Fields& termination) {
    if (!termination.given()) {
      for (const char* key : {"hosts", "plain", "texts", "channel", "number"})
        termination.Know(key);
      return;
    }
    read = std::make_shared<TlsTermination>();
    read->hosts = ReadPlaces(termination, "hosts");
    read->plain = ReadPlaces(termination, "plain");
    read->texts = termination.RequiredStrings("texts");
    read->channel = static_cast<int>(termination.Integer("channel", 0, INT_MAX).value_or(0));
    read->number = termination.Integer("number", 1).value_or(0);
    read->trust = std::make_shared<CurrentTrust>();
  });
  return read;
}

std::shared_ptr<const NetworkPolicy> ReadRules(Fields& network) {
  NetworkRuleTexts texts;
  texts.allow = network.RequiredStrings("allow");
  texts.deny = ReadStrings(network, "deny");
  texts.allow_private = ReadStrings(network, "allowPrivate");
  texts.host_ports = ReadStrings(network, "hostPorts");
  texts.asks = network.Function("onRequest").has_value();
  auto termination = ReadTermination(network);
  if (network.reader().failed()) return nullptr;
  auto rules = ReadNetworkRules(texts);
  if (!rules) {
    network.reader().Fail(rules.error());
    return nullptr;
  }
  return std::make_shared<const NetworkPolicy>(
      NetworkPolicy{.rules = std::move(rules.value()), .termination = std::move(termination)});
}

// The option `network` of runners that can have one by domain.
struct NetworkChoice {
  Network network = Network::kDeny;
  std::shared_ptr<const NetworkPolicy> by_domain;  // kByDomain only; without an asker
};

// Reads "allow", "deny" or { allow, deny?, allowPrivate?, hostPorts?, onRequest? }; "deny" if
// nothing was given.
NetworkChoice ReadNetworkChoice(Fields& options) {
  NetworkChoice choice;
  const auto value = options.Value("network");
  if (!value) return choice;
  if (value->IsObject() && !value->IsArray() && !value->IsFunction()) {
    choice.network = Network::kByDomain;
    options.Object("network",
                   [&choice](Fields& network) { choice.by_domain = ReadRules(network); });
    return choice;
  }
  const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
  if (text == "allow") {
    choice.network = Network::kAllow;
  } else if (text != "deny") {
    options.Fail("network", ErrorCode::kInvalidValue,
                 R"("allow", "deny" or an object with what to `allow`)", *value);
  }
  return choice;
}

}  // namespace

std::optional<Napi::Function> ReadOnRequest(Fields& options) {
  const auto value = options.Value("network");
  if (!value || !value->IsObject()) return std::nullopt;
  const Napi::Value asked = value->As<Napi::Object>().Get("onRequest");
  if (options.reader().Lost(asked) || !asked.IsFunction()) return std::nullopt;
  return asked.As<Napi::Function>();
}

namespace {

HostMount ReadMount(Fields& fields) {
  HostMount mount;
  mount.host_path = fields.RequiredString("hostPath");
  mount.guest_path = fields.String("guestPath").value_or(mount.host_path);
  mount.writable = fields.RequiredOneOf("mode", {"ro", "rw"}) == 1;
  mount.label = fields.String("label");
  return mount;
}

}  // namespace

namespace {

constexpr std::string_view kHomeWords = R"("none", "private", "kept" or { directory })";
constexpr std::string_view kToolsWords = R"("none", "host" or { paths, exclude })";

constexpr std::string_view kCachesWords = R"("none", "host" or a list of names)";

// lib knows the names, and refuses others.
void ReadCaches(Fields& options, BubblewrapPolicy& policy) {
  const auto value = options.Value("caches");
  if (!value) return;
  if (value->IsArray()) {
    policy.caches = Caches::kNamed;
    policy.cache_names = ReadStrings(options, "caches");
  } else {
    const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
    policy.caches = text == "host" ? Caches::kHost : Caches::kNone;
    if (text != "host" && text != "none") {
      options.Fail("caches", ErrorCode::kInvalidValue, kCachesWords.data(), *value);
    }
  }
  if (policy.caches == Caches::kNone || policy.home != Home::kNone) return;
  options.Fail("caches", ErrorCode::kInvalidValue,
               "\"none\" or left out with `home: \"none\"`, since caches lie in the home", *value);
}

// Reads `home` and `tools`; lib finds out what they show. `unnamed`: the tools if none are named.
template <typename Policy>
void ReadHome(Fields& options, Tools unnamed, Policy& policy) {
  policy.home = Home::kPrivate;
  if (const auto value = options.Value("home"); value && value->IsObject()) {
    policy.home = Home::kDirectory;
    options.Object("home", [&policy](Fields& home) {
      policy.home_directory = home.RequiredString("directory");
    });
  } else if (value) {
    const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
    if (text == "none") {
      policy.home = Home::kNone;
    } else if (text == "kept") {
      policy.home = Home::kKept;
    } else if (text != "private") {
      options.Fail("home", ErrorCode::kInvalidValue, kHomeWords.data(), *value);
    }
  }
  policy.tools = unnamed;
  if (const auto value = options.Value("tools"); value && value->IsObject()) {
    policy.tools = Tools::kHost;
    options.Object("tools", [&policy](Fields& tools) {
      policy.tool_paths = ReadStrings(tools, "paths");
      policy.tool_excludes = ReadStrings(tools, "exclude");
    });
  } else if (value) {
    const std::string text = value->IsString() ? value->As<Napi::String>().Utf8Value() : "";
    policy.tools = text == "host" ? Tools::kHost : Tools::kNone;
    if (text != "host" && text != "none") {
      options.Fail("tools", ErrorCode::kInvalidValue, kToolsWords.data(), *value);
    }
  }
  policy.shown =
      std::make_shared<CurrentHome>();  // also without both: where the system's links lead
}

}  // namespace

namespace {

// Reads the workspace. With the root directory as one, commands could write all of the host, unless
// that was agreed to.
std::string ReadShadowDir(Fields& options) {
  std::string directory = options.RequiredString("shadowDir");
  const bool is_agreed = options.Boolean("workspaceIsRoot").value_or(false);
  if (directory.starts_with('/') && NormalPath(directory) == "/" && !is_agreed) {
    options.reader().Fail({ErrorCode::kInvalidValue,
                           "Expected `shadowDir` to be a project's directory, got \"/\": commands "
                           "could write all of this host, to which `workspaceIsRoot: true` agrees",
                           ""});
  }
  return directory;
}

}  // namespace

BubblewrapPolicy ReadBubblewrapPolicy(Fields& options) {
  BubblewrapPolicy policy;
  policy.bwrap_path = options.String("bwrapPath").value_or(policy.bwrap_path);
  policy.shadow_dir = ReadShadowDir(options);
  policy.workspace_path = ReadWorkspacePath(options, policy.shadow_dir);
  options.Know("transaction");
  ReadRoBinds(options, policy);
  options.Objects("mounts",
                  [&policy](Fields& mount) { policy.mounts.push_back(ReadMount(mount)); });
  policy.devices = ReadStrings(options, "devices");
  auto [network, by_domain] = ReadNetworkChoice(options);
  policy.network = network;
  policy.by_domain = std::move(by_domain);
  policy.isolation = ReadIsolation(options);
  if (policy.network == Network::kByDomain && policy.isolation == Isolation::kCompat) {
    options.reader().Fail(
        {ErrorCode::kInvalidValue,
         "Expected `isolation` to be \"strict\" with a `network` by domain, got \"compat\"", ""});
  }
  policy.environment = ReadEnvironmentPolicy(options);
  policy.environment.own_proxy = policy.network == Network::kByDomain;
  policy.required = ReadStrings(options, "required");
  const bool has_host_tools = !policy.ro_binds_named && !options.Value("root");
  ReadHome(options, has_host_tools ? Tools::kHost : Tools::kNone, policy);
  ReadRoot(options, policy);
  ReadCaches(options, policy);
  policy.extra_args = ReadStrings(options, "extraArgs");
  policy.with_proc = options.Boolean("procBind").value_or(true);
  policy.with_dev = options.Boolean("devBind").value_or(true);
  policy.write_workspace = options.Boolean("allowWriteWorkspace").value_or(true);
  for (const std::string& layer : ReadStrings(options, "layers")) {
    if (layer == "landlock") {
      policy.with_landlock = true;
    } else {
      options.reader().Fail({ErrorCode::kInvalidValue,
                             "Expected `layers` to hold \"landlock\" only, got \"" + layer + "\"",
                             ""});
    }
  }
  return Checked(options, std::move(policy));
}

ProjectPolicy ReadProjectPolicy(Fields& options) {
  ProjectPolicy policy;
  policy.bwrap_path = options.String("bwrapPath").value_or(policy.bwrap_path);
  policy.folders = ReadStrings(options, "folders");
  policy.projects = ReadStrings(options, "projects");
  policy.secrets = ReadStrings(options, "secrets");
  policy.read_only = ReadStrings(options, "readOnly");
  auto [network, by_domain] = ReadNetworkChoice(options);
  policy.network = network;
  policy.by_domain = std::move(by_domain);
  policy.disable_userns = options.Boolean("disableUserns").value_or(true);
  policy.host_proc = options.Boolean("hostProc").value_or(false);
  policy.home = options.String("home").value_or("");
  policy.environment = ReadEnvironmentPolicy(options);
  policy.environment.own_proxy = policy.network == Network::kByDomain;
  return Checked(options, std::move(policy));
}

LandlockPolicy ReadLandlockPolicy(Fields& options) {
  LandlockPolicy policy;
  policy.shadow_dir = ReadShadowDir(options);
  options.Know("transaction");
  auto reads = options.Strings("fsReadDirs");
  auto writes = options.Strings("fsWriteDirs");
  policy.read_dirs_named = reads.has_value();
  policy.write_dirs_named = writes.has_value();
  policy.read_dirs = std::move(reads).value_or(DefaultReadDirs());
  policy.write_dirs = std::move(writes).value_or(DefaultWriteDirs());
  policy.read_workspace = options.Boolean("allowReadWorkspace").value_or(true);
  policy.write_workspace = options.Boolean("allowWriteWorkspace").value_or(true);
  policy.devices = ReadStrings(options, "devices");
  policy.network = ReadNetwork(options, Network::kDeny);
  policy.environment = ReadEnvironmentPolicy(options);
  policy.required = ReadStrings(options, "required");
  ReadHome(options, policy.read_dirs_named ? Tools::kNone : Tools::kHost, policy);
  return Checked(options, std::move(policy));
}

FirejailPolicy ReadFirejailPolicy(Fields& options) {
  FirejailPolicy policy;
  policy.firejail_path = options.String("firejailPath").value_or(policy.firejail_path);
  policy.shadow_dir = ReadShadowDir(options);
  policy.profile = options.String("profile");
  auto reads = options.Strings("fsReadDirs");
  policy.read_dirs_named = reads.has_value();
  policy.read_dirs = std::move(reads).value_or(DefaultFirejailReadDirs());
  policy.write_dirs = ReadStrings(options, "fsWriteDirs");
  policy.extra_args = ReadStrings(options, "extraArgs");
  policy.network = ReadNetwork(options, Network::kDeny);
  policy.environment = ReadEnvironmentPolicy(options);
  policy.required = ReadStrings(options, "required");
  return Checked(options, std::move(policy));
}

LocalPolicy ReadLocalPolicy(Fields& options) {
  LocalPolicy policy;
  policy.shadow_dir = ReadShadowDir(options);
  options.Know("transaction");
  policy.environment = ReadEnvironmentPolicy(options);
  return Checked(options, std::move(policy));
}

ArgvOptions ReadArgvOptions(Fields& options) {
  ArgvOptions read;
  read.policy.bwrap_path = options.String("bwrapPath").value_or(read.policy.bwrap_path);
  read.policy.shadow_dir = options.RequiredString("shadowDir");
  read.policy.network = ReadNetwork(options, Network::kDeny);
  ReadRoBinds(options, read.policy);
  read.policy = Checked(options, std::move(read.policy));
  read.command = options.RequiredStrings("commandArgv");
  if (!options.reader().failed()) options.reader().FailIf(CheckArgv(read.command));
  const auto cwd = options.String("cwd").value_or("");
  if (options.reader().failed()) return read;
  const auto relative = WorkspaceRelative(cwd, "buildBubblewrapArgv");
  if (relative) {
    read.cwd = JoinPath(kWorkspace, relative.value());
  } else {
    options.reader().Fail(relative.error());
  }
  return read;
}

namespace {

HostMount ReadCommandMount(Fields& fields) {
  HostMount mount;
  fields.RequiredOneOf("kind", {"dir"});
  mount.label = fields.String("label");
  mount.host_path = fields.RequiredString("hostPath");
  mount.guest_path = fields.RequiredString("guestPath");
  mount.writable = fields.RequiredOneOf("mode", {"rw", "ro"}) == 0;
  return mount;
}

}  // namespace

ProcessSandboxPolicy ReadProcessSandboxPolicy(Fields& options) {
  ProcessSandboxPolicy policy;
  BubblewrapPolicy& sandbox = policy.sandbox;
  sandbox.bwrap_path = options.String("bwrapPath").value_or(sandbox.bwrap_path);
  sandbox.proc_path = options.String("procPath").value_or(sandbox.proc_path);
  sandbox.dev_path = options.String("devPath").value_or(sandbox.dev_path);
  sandbox.tmp_path = options.String("tmpPath").value_or(sandbox.tmp_path);
  policy.cwd_label = options.String("defaultCwdLabel").value_or(policy.cwd_label);
  ReadRoBinds(options, sandbox);
  sandbox.network = ReadNetwork(options, Network::kAllow);
  sandbox.isolation = ReadIsolation(options);
  return Checked(options, std::move(policy));
}

ProcessCommand ReadProcessCommand(Fields& fields) {
  ProcessCommand command;
  command.cmd = fields.RequiredString("cmd");
  command.args = fields.RequiredStrings("args");
  fields.Objects("mounts",
                 [&command](Fields& mount) { command.mounts.push_back(ReadCommandMount(mount)); });
  // The variables pass through untouched; those that no process can be started with are refused
  // here.
  const auto env = fields.Variables("env").value_or(std::vector<Variable>());
  for (const Variable& variable : env)
    fields.reader().FailIf(CheckVariable(variable));
  fields.String("cwd");
  if (!fields.reader().failed()) fields.reader().FailIf(CheckCommand(command));
  return command;
}

std::optional<std::size_t> ReadMaxConcurrent(Fields& options) {
  return options.Integer("maxConcurrent", 1);
}

std::optional<PoolRule> ReadPrewarm(Fields& options, const BubblewrapPolicy& policy) {
  constexpr std::uint64_t kMost = 64;
  constexpr std::size_t kNever = 1;  // index in the words of `clone`
  PoolRule rule;
  if (const auto size = options.Integer("prewarm", 0, kMost)) {
    if (*size > 0 && !CanBePrewarmed(policy)) {
      options.Fail("prewarm", ErrorCode::kInvalidValue,
                   "0 or left out with `extraArgs` or isolation \"compat\"",
                   *options.Value("prewarm"));
    }
    rule.size = static_cast<std::size_t>(*size);
  }
  rule.idle_ms = options.Integer("prewarmIdleMs", 1).value_or(rule.idle_ms);
  const bool never_clones = options.OneOf("clone", {"auto", "never"}) == kNever;
  rule.clones = !never_clones;  // if clones are impossible, each run reports the reason
  const bool is_off = !CanBePrewarmed(policy) || (rule.size == std::size_t{0} && !rule.clones);
  return is_off ? std::nullopt : std::optional(rule);
}

SessionRule ReadSessionRule(Fields& options) {
  constexpr std::uint64_t kDefaultIdleMs = 300'000;
  SessionRule rule;
  rule.max_commands = options.Integer("maxCommands", 1).value_or(0);
  rule.tmp_bytes = options.Integer("tmpBytes", 1).value_or(0);
  rule.keeps_shell = options.Boolean("shell").value_or(false);
  rule.idle_ms = kDefaultIdleMs;
  if (const auto number = options.Number("idleTimeoutMs")) {
    const auto idle = TimeoutValue(*number);
    if (idle) {
      rule.idle_ms = idle.value().value_or(0);
    } else if (const auto value = options.Value("idleTimeoutMs")) {
      options.Fail("idleTimeoutMs", ErrorCode::kOutOfRange, "a number greater than 0", *value);
    }
  }
  return rule;
}

}  // namespace native_runner
