#include <gtest/gtest.h>

#include "policy/options/environment.h"

namespace native_runner {
namespace {

TEST(SteersLoader, KnowsLoadersInterpretersShellsAndGit) {
  for (const char* name : {"LD_PRELOAD",
                           "LD_LIBRARY_PATH",
                           "LD_AUDIT",
                           "LD_",
                           "DYLD_INSERT_LIBRARIES",
                           "NODE_OPTIONS",
                           "NODE_PATH",
                           "NODE_CHANNEL_FD",
                           "BASH_ENV",
                           "ENV",
                           "BASH_FUNC_ls%%",
                           "SHELLOPTS",
                           "BASHOPTS",
                           "PS4",
                           "PROMPT_COMMAND",
                           "ZDOTDIR",
                           "PYTHONSTARTUP",
                           "PYTHONHOME",
                           "PYTHONPATH",
                           "PYTHONINSPECT",
                           "PERL5OPT",
                           "PERL5LIB",
                           "PERL5DB",
                           "RUBYOPT",
                           "RUBYLIB",
                           "JAVA_TOOL_OPTIONS",
                           "_JAVA_OPTIONS",
                           "JDK_JAVA_OPTIONS",
                           "GCONV_PATH",
                           "GLIBC_TUNABLES",
                           "LOCPATH",
                           "NLSPATH",
                           "HOSTALIASES",
                           "RES_OPTIONS",
                           "LESSOPEN",
                           "LESSCLOSE",
                           "GIT_SSH",
                           "GIT_SSH_COMMAND",
                           "GIT_EXTERNAL_DIFF",
                           "GIT_PAGER",
                           "GIT_EDITOR",
                           "GIT_SEQUENCE_EDITOR",
                           "GIT_ASKPASS",
                           "GIT_PROXY_COMMAND",
                           "GIT_CONFIG",
                           "GIT_CONFIG_COUNT",
                           "GIT_CONFIG_VALUE_0",
                           "GIT_CONFIG_GLOBAL",
                           "GIT_TEMPLATE_DIR",
                           "GIT_EXEC_PATH",
                           "GIT_DIR",
                           "SSH_ASKPASS",
                           "OPENSSL_CONF",
                           "LUA_INIT_5_4",
                           "npm_config_node_options"}) {
    EXPECT_TRUE(SteersLoader(name)) << name;
  }
}

TEST(SteersLoader, LeavesTheRest) {
  for (const char* name : {"",
                           "PATH",
                           "HOME",
                           "TERM",
                           "LANG",
                           "LC_ALL",
                           "NODE_ENV",
                           "NODE_EXTRA_CA_CERTS",
                           "env",
                           "ENVIRONMENT",
                           "LDFLAGS",
                           "GOLD_X",
                           "GIT_AUTHOR_NAME",
                           "GIT_COMMITTER_EMAIL",
                           "GIT_TERMINAL_PROMPT",
                           "GIT_PAGER_IN_USE",
                           "PYTHONUNBUFFERED",
                           "PYTHONDONTWRITEBYTECODE",
                           "PYTHONIOENCODING",
                           "BASH",
                           "BASH_VERSION",
                           "PS1",
                           "EDITOR",
                           "PAGER",
                           "JAVA_HOME",
                           "LESS",
                           "node_options",
                           "SHELL"}) {
    EXPECT_FALSE(SteersLoader(name)) << name;
  }
}

}  // namespace
}  // namespace native_runner
