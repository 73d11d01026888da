/** Variables that change which code a command loads or runs. */

import type { Effect } from "../call.js";
import { partOf, type ShellWord } from "../script/word.js";

type VariableFinding = {
  readonly rule: "loader-variable" | "search-path";
  readonly reason: string;
};

const kLoader =
  /^(?:LD_\w+|DYLD_\w+|GCONV_PATH|BASH_ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|PROMPT_COMMAND|PERL5OPT|PERL5DB|RUBYOPT|PYTHONSTARTUP|PYTHONBREAKPOINT|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|GIT_CONFIG(?!_NOSYSTEM$)\w*|OPENSSL_CONF|OPENSSL_MODULES|GTK_MODULES|ERL_FLAGS|LUA_INIT\w*|PS0|VIMINIT|EXINIT|GVIMINIT|MAKEFILES|COMPILER_PATH|GCC_EXEC_PREFIX|RIPGREP_CONFIG_PATH|WGETRC|CURL_HOME|INPUTRC|GDBHISTFILE|NPM_CONFIG_NODE_OPTIONS|npm_config_node_options|npm_config_globalconfig|npm_config_userconfig)$/;
const kSearch =
  /^(?:PATH|CDPATH|HOME|PYTHONPATH|PYTHONHOME|NODE_PATH|PERL5LIB|PERLLIB|RUBYLIB|CLASSPATH|LUA_C?PATH|XDG_CONFIG_HOME|ZDOTDIR|GIT_DIR|GIT_WORK_TREE|BASH_ALIASES|BASH_CMDS|TERMINFO)$/;
const kCommand =
  /^(?:\w*PAGER|EDITOR|VISUAL|FCEDIT|BROWSER|GIT_EDITOR|GIT_SEQUENCE_EDITOR|GIT_SSH(?:_COMMAND)?|\w*ASKPASS|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|RSYNC_RSH|RSYNC_CONNECT_PROG|CVS_EDITOR|HGEDITOR|SVN_(?:EDITOR|SSH|MERGE)|SUDO_EDITOR|FZF_DEFAULT_COMMAND|CCACHE_PREFIX|CMAKE_\w*(?:_LAUNCHER|_COMPILER)|CARGO_BUILD_RUSTC|CARGO_TARGET_\w+_(?:LINKER|RUNNER)|\w*_PAGER|CVS_RSH|LESSOPEN|LESSCLOSE|SHELL|PERL5SHELL|COMSPEC|SYSTEMD_EDITOR|CC|CXX|CPP|LD|AR|RUSTC|RUSTC_\w*WRAPPER|npm_config_(?:script_shell|editor|shell|git|viewer))$/i;
/** Tables of the shell that say which program a name runs. */
const kPrograms = /^(?:BASH_ALIASES|BASH_CMDS)$/;
/** For variables that add options to every run of a program: the options that load code. */
const kOptions: Readonly<Record<string, RegExp>> = {
  // A start-up file of sh, if it is a path: `ENV=production` is a setting of another program.
  ENV: /\W/,
  NODE_OPTIONS:
    /(?:^|\s)(?:-r|-e|-p|--require|--import|--(?:experimental-)?loader|--eval|--print|--inspect)/,
  JAVA_TOOL_OPTIONS: /-agent|-javaagent|-XX:On|@/,
  _JAVA_OPTIONS: /-agent|-javaagent|-XX:On|@/,
  JDK_JAVA_OPTIONS: /-agent|-javaagent|-XX:On|@/,
  MAKEFLAGS: /E|eval|=/,
  GNUMAKEFLAGS: /E|eval|=/,
  ZIPOPT: /-TT|unzip-c/,
  ZIP_OPTS: /-TT|unzip-c/,
  GOFLAGS: /-toolexec|-exec|-vettool|-overlay|-modfile/,
  RUSTFLAGS: /linker|link-arg|-Z/,
  RUSTDOCFLAGS: /linker|link-arg|-Z/,
  CFLAGS: /-wrapper|-B|-fplugin|-specs|@/,
  CXXFLAGS: /-wrapper|-B|-fplugin|-specs|@/,
  LDFLAGS: /-wrapper|-B|-plugin|-specs|@/,
  FZF_DEFAULT_OPTS: /preview|execute|become|reload|transform/,
  PYTHONWARNINGS: /::\w+\.\w/,
  MAVEN_OPTS: /-agent|-javaagent|-XX:On|@/,
  GRADLE_OPTS: /-agent|-javaagent|-XX:On|@/,
  SBT_OPTS: /-agent|-javaagent|-XX:On|@/,
  TAR_OPTIONS: /to-c|checkpoint-a|use-c|info-s|-I|-F/,
  LESS: /\+/,
  PS4: /\$[({]|`/,
  PS1: /\$[({]|`/,
};

/** Returns the finding for setting a variable; an empty value counts as not set. */
export function variableFinding(name: string, value: ShellWord): VariableFinding | undefined {
  const options = Object.hasOwn(kOptions, name) ? kOptions[name] : undefined;
  if (value.literal && (value.text === "" || value.text === "/dev/null") && name !== "PATH")
    return undefined;
  if (kLoader.test(name) || (options && (!value.literal || options.test(value.text)))) {
    const reason = `${name} makes commands load or run other code.`;
    return { rule: "loader-variable", reason };
  }
  if (!kSearch.test(name)) return undefined;
  return { rule: "search-path", reason: `${name} changes where commands or their code are found.` };
}

/** True if each element of the variable names a program that the shell runs. */
export function namesPrograms(name: string): boolean {
  return kPrograms.test(name);
}

/** Returns the command in a variable's value, for the programs that run it. */
export function variableCode(name: string, value: ShellWord): Effect[] {
  if (namesPrograms(name) && value.literal) {
    return [{ kind: "code", word: partOf(value, value.text.replace(/^\[[^\]]*\]=/, "")) }];
  }
  if (!kCommand.test(name) || value.text === "") return [];
  if (!value.literal) {
    const reason = `Which command ${name} names is only known as it runs.`;
    return [{ kind: "finding", rule: "unread-script", reason, word: value }];
  }
  return [{ kind: "code", word: partOf(value, value.text.replace(/^\|[|-]*/, "")) }];
}
