#include <algorithm>
#include <array>
#include <string_view>

#include "policy/options/environment.h"

namespace native_runner {
namespace {

// Exact names, sorted. Case matters to the programs that read them, so it matters here. What they
// choose: shells' start-up files (bash(1), zsh(1)), interpreters' modules and options, libraries'
// plug-ins, resolver and locale files that ld.so(8) drops for set-user-id programs, programs that
// git(1) runs and the configuration it reads. NODE_CHANNEL_FD names a descriptor of the host's.
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

}  // namespace native_runner
