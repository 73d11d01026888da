#include "policy/options/environment.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace native_runner {
namespace {

// Exact names, sorted. Case matters to the programs that read them, so it matters here. They
// choose: shells' start-up files (bash(1), zsh(1)), interpreters' modules and options, libraries'
// plug-ins, resolver and locale files that ld.so(8) drops for set-user-id programs, programs that
// git(1) runs and the configuration it reads. NODE_CHANNEL_FD names a descriptor of the host.
constexpr auto kLoaderNames = std::to_array<std::string_view>({
    "BASHOPTS",
    "BASH_ENV",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "CLASSPATH",
    "COMPILER_PATH",
    "CORECLR_PROFILER",
    "DOTNET_STARTUP_HOOKS",
    "ENV",
    "FPATH",
    "GCC_EXEC_PREFIX",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GIO_EXTRA_MODULES",
    "GIT_ALLOW_PROTOCOL",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ASKPASS",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_EDITOR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
    "GLIBC_TUNABLES",
    "GTK_MODULES",
    "GTK_PATH",
    "HOSTALIASES",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCALDOMAIN",
    "LOCPATH",
    "LUA_CPATH",
    "LUA_PATH",
    "MALLOC_TRACE",
    "NIS_PATH",
    "NLSPATH",
    "NODE_CHANNEL_FD",
    "NODE_CHANNEL_SERIALIZATION_MODE",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "NPM_CONFIG_GIT",
    "NPM_CONFIG_NODE_OPTIONS",
    "NPM_CONFIG_SCRIPT_SHELL",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERL5SHELL",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONBREAKPOINT",
    "PYTHONEXECUTABLE",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "PYTHONWARNINGS",
    "QT_PLUGIN_PATH",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "RUBYLIB",
    "RUBYOPT",
    "RUBYSHELL",
    "R_PROFILE",
    "R_PROFILE_USER",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
    "npm_config_git",
    "npm_config_node_options",
    "npm_config_script_shell",
});

constexpr auto kLoaderPrefixes = std::to_array<std::string_view>({
    "LD_", "DYLD_",
    "BASH_FUNC_",  // exported shell functions
    "GIT_CONFIG",  // GIT_CONFIG_COUNT, _KEY_n, _VALUE_n, _GLOBAL ...
    "LUA_INIT",    // LUA_INIT_5_4 ...
});

static_assert(std::is_sorted(kLoaderNames.begin(), kLoaderNames.end()));

}  // namespace

bool SteersLoader(std::string_view name) {
  const auto starts_name = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(kLoaderPrefixes.begin(), kLoaderPrefixes.end(), starts_name) ||
         std::binary_search(kLoaderNames.begin(), kLoaderNames.end(), name);
}

namespace {

// Words that mark a secret anywhere in a name; sorted.
constexpr auto kSecretWords = std::to_array<std::string_view>({
    "ACCESSKEY",    "ACCESSTOKEN",   "APIKEY",         "APIKEYS",  "APISECRET",
    "APITOKEN",     "AUTH",          "AUTHENTICATION", "AUTHKEY",  "AUTHORIZATION",
    "AUTHTOKEN",    "BEARER",        "CLIENTSECRET",   "COOKIE",   "COOKIES",
    "CRED",         "CREDENTIAL",    "CREDENTIALS",    "CREDS",    "DEPLOYKEY",
    "DSN",          "ENCRYPTIONKEY", "IDTOKEN",        "JWT",      "KEY",
    "KEYS",         "MASTERKEY",     "OAUTH",          "OTP",      "PASS",
    "PASSCODE",     "PASSPHRASE",    "PASSWD",         "PASSWORD", "PASSWORDS",
    "PAT",          "PRIVATEKEY",    "PRIVKEY",        "PSK",      "PW",
    "REFRESHTOKEN", "SECRET",        "SECRETKEY",      "SECRETS",  "SIGNINGKEY",
    "SSHKEY",       "TOKEN",         "TOKENS",         "TOTP",
});

// Secret names that contain none of the words: agents' and daemons' sockets, files of credentials;
// sorted.
constexpr auto kSecretNames = std::to_array<std::string_view>({
    "AZURE_STORAGE_CONNECTION_STRING",
    "BW_SESSION",
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SESSION_BUS_PID",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_CERT_PATH",
    "DOCKER_CONFIG",
    "DOCKER_HOST",
    "GNOME_KEYRING_CONTROL",
    "GNOME_KEYRING_PID",
    "GPG_AGENT_INFO",
    "KRB5CCNAME",
    "KRB5_KTNAME",
    "KUBECONFIG",
    "LDAPPASSWD",
    "NETRC",
    "PGPASSFILE",
    "PGPASSWORD",
    "PGSERVICEFILE",
    "SSHPASS",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "VSCODE_GIT_IPC_HANDLE",
    "VSCODE_IPC_HOOK_CLI",
    "XAUTHORITY",
});

static_assert(std::is_sorted(kSecretWords.begin(), kSecretWords.end()));
static_assert(std::is_sorted(kSecretNames.begin(), kSecretNames.end()));

constexpr std::size_t kLongestListed = 40;
constexpr std::string_view kMark = "://";

// <cctype> depends on the locale; names are ASCII.
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
char Upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
bool IsLetter(char c) {
  return Upper(c) >= 'A' && Upper(c) <= 'Z';
}

// An upper-case copy in a fixed buffer. A longer name is in no list.
class UpperCase {
 public:
  explicit UpperCase(std::string_view text) {
    if (text.size() > buffer_.size()) return;
    std::transform(text.begin(), text.end(), buffer_.begin(), Upper);
    size_ = text.size();
  }
  std::string_view view() const { return {buffer_.data(), size_}; }

 private:
  std::array<char, kLongestListed> buffer_{};
  std::size_t size_ = 0;
};

template <std::size_t N>
bool Lists(const std::array<std::string_view, N>& sorted, std::string_view text) {
  return std::binary_search(sorted.begin(), sorted.end(), text);
}

// Drops the number: KEY2 and TOKEN1 are the same words.
std::string_view WithoutNumber(std::string_view word) {
  while (!word.empty() && IsDigit(word.back()))
    word.remove_suffix(1);
  return word;
}

bool NamesSecret(std::string_view name) {
  if (Lists(kSecretNames, UpperCase(name).view()) || name.starts_with("OP_SESSION_")) return true;
  std::size_t words = 0;
  bool has_pwd = false;
  bool has_old = false;
  std::size_t start = 0;
  while (start < name.size()) {
    std::size_t end = start;
    while (end < name.size() && (IsLetter(name[end]) || IsDigit(name[end])))
      ++end;
    if (end > start) {
      const UpperCase word(WithoutNumber(name.substr(start, end - start)));
      if (Lists(kSecretWords, word.view())) return true;
      ++words;
      has_pwd |= word.view() == "PWD";
      has_old |= word.view() == "OLD";
    }
    start = end + 1;
  }
  // In MYSQL_PWD it means a password; PWD and OLDPWD mean a working directory.
  return has_pwd && !has_old && words > 1;
}

// True if the value contains scheme://user:password@host.
bool HoldsUrlWithPassword(std::string_view value) {
  std::size_t mark = value.find(kMark);
  while (mark != std::string_view::npos) {
    const std::size_t start = mark + kMark.size();
    const std::size_t end = std::min(value.find_first_of("/?# \t\r\n\"'<>", start), value.size());
    const std::string_view authority = value.substr(start, end - start);
    const std::size_t at = authority.rfind('@');  // a password may contain an unescaped @ itself
    const bool has_scheme = mark > 0 && (IsLetter(value[mark - 1]) || IsDigit(value[mark - 1]));
    if (has_scheme && at != std::string_view::npos && authority.substr(0, at).find(':') < at) {
      return true;
    }
    mark = value.find(kMark, start);
  }
  return false;
}

}  // namespace

bool CarriesSecret(std::string_view name, std::string_view value) {
  return NamesSecret(name) || HoldsUrlWithPassword(value);
}

// Follows curl(1) and wget(1), whose spellings other programs share; npm's and Node's own variables
// have the same endings.
bool NamesProxy(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter;
  });
  return lower.ends_with("_proxy") || lower.ends_with("_noproxy");
}

const std::vector<std::string>& OwnProxyVariables() {
  static const std::vector<std::string> variables = [] {
    const std::string proxy = "http://127.0.0.1:3128";
    const std::string direct = "localhost,127.0.0.1,127.0.0.0/8,::1";
    return std::vector<std::string>{"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy,
                                    "http_proxy=" + proxy, "https_proxy=" + proxy,
                                    "NO_PROXY=" + direct,  "no_proxy=" + direct,
                                    "NODE_USE_ENV_PROXY=1"};
  }();
  return variables;
}

namespace {

constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

using Names = std::vector<std::string_view>;

bool Holds(const Names& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

bool LetsThrough(const EnvironmentPolicy& policy, const Names& listed, const Variable& variable) {
  const std::string_view name = variable.first;
  if (name.empty() || name == "PWD") return false;  // the command's directory is not the host's
  switch (policy.mode) {
    case EnvironmentPolicy::Mode::kScrub:
      return name != "OLDPWD" && !SteersLoader(name) && !CarriesSecret(name, variable.second);
    case EnvironmentPolicy::Mode::kInherit:
      return true;
    case EnvironmentPolicy::Mode::kClean:
      return false;
    case EnvironmentPolicy::Mode::kNames:
      return Holds(listed, name);
  }
  return false;
}

std::string Assignment(std::string_view name, std::string_view value) {
  std::string text;
  text.reserve(name.size() + 1 + value.size());
  text += name;
  text += '=';
  text += value;
  return text;
}

// Returns the indexes of `named` to keep, in order: the last of equal names.
std::vector<std::size_t> LastOfEachName(const std::vector<Variable>& named) {
  std::vector<std::size_t> order(named.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&named](std::size_t a, std::size_t b) {
    const int compared = named[a].first.compare(named[b].first);
    return compared != 0 ? compared < 0 : a > b;
  });
  const auto same_name = [&named](std::size_t a, std::size_t b) {
    return named[a].first == named[b].first;
  };
  order.erase(std::unique(order.begin(), order.end(), same_name), order.end());
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

std::vector<std::string> PassedVariables(const EnvironmentPolicy& policy,
                                         const std::vector<Variable>& host) {
  Names listed(policy.names.begin(), policy.names.end());
  std::sort(listed.begin(), listed.end());
  std::vector<std::string> passed;
  passed.reserve(host.size());
  for (const Variable& variable : host) {
    if (policy.own_proxy && NamesProxy(variable.first)) continue;
    if (LetsThrough(policy, listed, variable)) {
      passed.push_back(Assignment(variable.first, variable.second));
    }
  }
  if (policy.own_proxy) {
    const auto& own = OwnProxyVariables();
    passed.insert(passed.end(), own.begin(), own.end());
  }
  return passed;
}

std::vector<std::string> FitToHome(std::vector<std::string> passed, const HomeView& view) {
  Names dropped(view.dropped.begin(), view.dropped.end());
  const std::string& home = view.path.empty() ? view.homes : view.path;
  if (!home.empty()) dropped.emplace_back("HOME");
  std::sort(dropped.begin(), dropped.end());
  const auto name_of = [](const std::string& variable) {
    return std::string_view(variable).substr(0, variable.find('='));
  };
  std::erase_if(passed,
                [&](const std::string& variable) { return Holds(dropped, name_of(variable)); });
  for (std::string& variable : passed) {
    const auto replacement =
        std::find_if(view.replaced.begin(), view.replaced.end(),
                     [&](const Variable& each) { return each.first == name_of(variable); });
    if (replacement != view.replaced.end()) {
      variable = Assignment(replacement->first, replacement->second);
    }
  }
  for (const Variable& variable : view.added) {
    const bool passes = std::any_of(passed.begin(), passed.end(), [&](const std::string& each) {
      return name_of(each) == variable.first;
    });
    if (!passes) passed.push_back(Assignment(variable.first, variable.second));
  }
  if (!home.empty()) passed.push_back(Assignment("HOME", home));
  return passed;
}

std::vector<std::string> WithOwnHome(std::vector<std::string> environment, const HomeView& view,
                                     const std::string& home) {
  const std::string unnamed = Assignment("HOME", view.homes);
  std::replace(environment.begin(), environment.end(), unnamed, Assignment("HOME", home));
  return environment;
}

std::vector<std::string> BuildEnvironment(const std::vector<std::string>& passed,
                                          const std::vector<Variable>& named,
                                          std::string_view cwd) {
  Names overridden;
  overridden.reserve(named.size());
  for (const Variable& variable : named)
    overridden.push_back(variable.first);
  std::sort(overridden.begin(), overridden.end());

  std::vector<std::string> environment;
  environment.reserve(passed.size() + named.size() + 2);
  bool has_path = Holds(overridden, "PATH");
  for (const std::string& variable : passed) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    if (Holds(overridden, name)) continue;
    has_path |= name == "PATH";
    environment.push_back(variable);
  }
  for (const std::size_t index : LastOfEachName(named)) {
    environment.push_back(Assignment(named[index].first, named[index].second));
  }
  if (!cwd.empty() && !Holds(overridden, "PWD")) environment.push_back(Assignment("PWD", cwd));
  if (!has_path) environment.push_back(Assignment("PATH", kDefaultPath));
  return environment;
}

}  // namespace native_runner
