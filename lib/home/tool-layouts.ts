/**
 * Where version managers and toolchains keep what their programs need. Data only: lib/home/host-tools.ts reads it. What
 * is not shown of a root stays unseen: caches, settings, credentials.
 */

/** The layout of one tool. Paths in `shown` and `secrets` are relative to its root; "*" is one name. */
export type ToolLayout = {
  name: string;
  /** Where its root may be, the first that exists: "$NAME" is a variable's value, "~" the home. */
  roots: readonly string[];
  /** What its programs need: the whole root if it is "". Missing ones are skipped. */
  shown: readonly string[];
  /** Files that are empty inside. */
  secrets?: readonly string[];
  /** The program that brings it, where that may be installed apart from it: in any directory of PATH. */
  program?: string;
  /** Other tools that its programs need. */
  needs?: readonly string[];
  /** What does not work, as nothing shown can be written. */
  cannot: string;
};

const kInstall = "install another version";

/** The layouts, by name. */
export const kToolLayouts: readonly ToolLayout[] = [
  {
    name: "nvm",
    roots: ["$NVM_DIR", "~/.nvm", "~/.config/nvm"],
    shown: ["versions"],
    secrets: ["versions/node/*/etc/npmrc"],
    cannot: `${kInstall}, npm install -g`,
  },
  {
    name: "fnm",
    roots: ["$FNM_DIR", "~/.local/share/fnm", "~/.fnm"],
    shown: ["node-versions", "aliases"],
    secrets: ["node-versions/*/installation/etc/npmrc"],
    cannot: `${kInstall}, npm install -g`,
  },
  {
    name: "volta",
    roots: ["$VOLTA_HOME", "~/.volta"],
    shown: ["bin", "tools", "layout.v4"],
    cannot: `${kInstall}, pin one`,
  },
  {
    name: "pyenv",
    roots: ["$PYENV_ROOT", "~/.pyenv"],
    shown: [""],
    cannot: `${kInstall}, pip install without --user`,
  },
  {
    name: "rbenv",
    roots: ["$RBENV_ROOT", "~/.rbenv"],
    shown: [""],
    secrets: ["versions/*/etc/gemrc"],
    cannot: `${kInstall}, gem install`,
  },
  {
    name: "uv",
    roots: ["$UV_PYTHON_INSTALL_DIR", "~/.local/share/uv"],
    shown: ["python", "tools"],
    cannot: `${kInstall}, uv tool install`,
  },
  {
    name: "pipx",
    roots: ["$PIPX_HOME", "~/.local/share/pipx", "~/.local/pipx"],
    shown: ["venvs", "shared"],
    cannot: "pipx install",
  },
  {
    name: "conda",
    roots: [
      "$CONDA_ROOT",
      "~/miniconda3",
      "~/anaconda3",
      "~/miniforge3",
      "~/mambaforge",
      "/opt/conda",
    ],
    shown: [""],
    secrets: [".condarc", "condarc", ".netrc", "etc/npmrc"],
    cannot: "conda install into an environment of the host",
  },
  {
    name: "rustup",
    roots: ["$RUSTUP_HOME", "~/.rustup"],
    shown: ["toolchains", "settings.toml", "update-hashes"], // rustup makes the last if it is missing
    program: "rustup",
    cannot: "install or choose another toolchain",
  },
  {
    name: "cargo",
    roots: ["$CARGO_HOME", "~/.cargo"],
    shown: ["bin", "env"],
    needs: ["rustup"],
    cannot: "cargo install without --root",
  },
  {
    name: "go",
    roots: ["$GOROOT", "/usr/local/go"],
    shown: [""],
    cannot: "install another version",
  },
  { name: "go's programs", roots: ["$GOPATH", "~/go"], shown: ["bin"], cannot: "go install" },
  {
    name: "sdkman",
    roots: ["$SDKMAN_DIR", "~/.sdkman"],
    shown: ["candidates", "bin", "src"],
    cannot: kInstall,
  },
  {
    name: "asdf",
    roots: ["$ASDF_DATA_DIR", "~/.asdf"],
    shown: [""],
    cannot: kInstall,
  },
  {
    name: "mise",
    roots: ["$MISE_DATA_DIR", "~/.local/share/mise"],
    shown: ["installs", "shims"],
    cannot: `${kInstall}; a version that only the settings of mise name`,
  },
  { name: "deno", roots: ["$DENO_INSTALL", "~/.deno"], shown: ["bin"], cannot: "deno install -g" },
  {
    name: "bun",
    roots: ["$BUN_INSTALL", "~/.bun"],
    shown: ["bin", "install/global"],
    cannot: "bun add -g",
  },
  {
    name: "pnpm",
    roots: ["$PNPM_HOME", "~/.local/share/pnpm"],
    shown: [""],
    secrets: ["rc", ".npmrc", "auth.ini"],
    cannot: "pnpm add -g",
  },
  {
    name: "Homebrew",
    roots: ["$HOMEBREW_PREFIX", "/home/linuxbrew/.linuxbrew", "~/.linuxbrew"],
    shown: [""],
    secrets: ["etc/npmrc"],
    cannot: "brew install",
  },
  {
    name: "Nix",
    roots: ["/nix"],
    shown: ["store", "var/nix/profiles"],
    cannot: "nix build, nix profile",
  },
];

/** Variables that name the root of a toolchain, which is then shown. */
export const kToolchainVariables: readonly string[] = [
  "ANDROID_HOME",
  "ANDROID_NDK_ROOT",
  "ANDROID_SDK_ROOT",
  "DOTNET_ROOT",
  "GOROOT",
  "GRADLE_HOME",
  "JAVA_HOME",
  "JDK_HOME",
  "M2_HOME",
  "MAVEN_HOME",
];

/** Variables that name files of certificates, which are then shown. */
export const kCertificateVariables: readonly string[] = [
  "AWS_CA_BUNDLE",
  "CARGO_HTTP_CAINFO",
  "CURL_CA_BUNDLE",
  "DENO_CERT",
  "GIT_SSL_CAINFO",
  "NIX_SSL_CERT_FILE",
  "NODE_EXTRA_CA_CERTS",
  "PIP_CERT",
  "REQUESTS_CA_BUNDLE",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE",
];

/** Variables that name directories to write to: they pass only if those can be written inside. */
export const kWritableVariables: readonly string[] = [
  "BUN_INSTALL_CACHE_DIR",
  "CARGO_HOME",
  "CARGO_TARGET_DIR",
  "CCACHE_DIR",
  "COMPOSER_CACHE_DIR",
  "COREPACK_HOME",
  "DENO_DIR",
  "GEM_HOME",
  "GOBIN",
  "GOCACHE",
  "GOMODCACHE",
  "GOPATH",
  "GOTMPDIR",
  "GRADLE_USER_HOME",
  "HISTFILE",
  "NPM_CONFIG_CACHE",
  "NPM_CONFIG_PREFIX",
  "NPM_CONFIG_USERCONFIG",
  "NUGET_PACKAGES",
  "PIP_CACHE_DIR",
  "POETRY_CACHE_DIR",
  "SCCACHE_DIR",
  "TEMP",
  "TEMPDIR",
  "TMP",
  "TMPDIR",
  "UV_CACHE_DIR",
  "XDG_BIN_HOME",
  "XDG_CACHE_HOME",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_RUNTIME_DIR",
  "XDG_STATE_HOME",
  "YARN_CACHE_FOLDER",
  "YARN_GLOBAL_FOLDER",
  "npm_config_cache",
  "npm_config_prefix",
  "npm_config_userconfig",
];

/** Variables that name what is only read, and pass only if it is there. */
export const kReadVariables: readonly string[] = [
  "ASDF_DATA_DIR",
  "ASDF_DIR",
  "BUN_INSTALL",
  "CONDA_EXE",
  "CONDA_PREFIX",
  "CONDA_PYTHON_EXE",
  "DENO_INSTALL",
  "FNM_DIR",
  "FNM_MULTISHELL_PATH",
  "HOMEBREW_CELLAR",
  "HOMEBREW_PREFIX",
  "HOMEBREW_REPOSITORY",
  "MISE_DATA_DIR",
  "NVM_BIN",
  "NVM_DIR",
  "NVM_INC",
  "PIPX_HOME",
  "PNPM_HOME",
  "PYENV_ROOT",
  "RBENV_ROOT",
  "RUSTUP_HOME",
  "SDKMAN_CANDIDATES_DIR",
  "SDKMAN_DIR",
  "VIRTUAL_ENV",
  "VOLTA_HOME",
];
