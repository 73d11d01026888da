/** A home as developers have it, with tools of many kinds, an identity, and secrets; below /var/tmp, since /tmp is private. */

import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** In every secret, and in nothing else. */
export const kMark = "SECRET-OF-THE-HOME";

/** Files of the home that no command may read. */
export const kSecrets: readonly string[] = [
  ".ssh/id_ed25519",
  ".ssh/config",
  ".aws/credentials",
  ".azure/accessTokens.json",
  ".gnupg/private-keys-v1.d/key",
  ".kube/config",
  ".docker/config.json",
  ".netrc",
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  ".vault-token",
  ".bash_history",
  ".zsh_history",
  ".env",
  ".cargo/credentials.toml",
  ".cargo/config.toml",
  ".m2/settings.xml",
  ".gradle/gradle.properties",
  ".config/gh/hosts.yml",
  ".config/gcloud/credentials.db",
  ".config/git/credentials",
  ".config/pip/pip.conf",
  ".config/mise/config.toml",
  ".claude/.credentials.json",
  ".local/share/keyrings/login.keyring",
  ".nvm/versions/node/v99.1.0/etc/npmrc",
  ".pyenv/.env",
  "miniconda3/.condarc",
  "Documents/taxes.txt",
  "other-project/.env",
  "other-project/config/database.yml",
];

export type MadeHome = {
  home: string;
  workspace: string;
  /** For transactions. */
  state: string;
  /** The host's variables, for a command on the host and for the runner. */
  env: Record<string, string>;
};

/** Makes the home, and a workspace beside it; both go away with the test or suite that calls this. */
export function madeHome(): MadeHome & { remove: () => void } {
  const root = mkdtempSync("/var/tmp/native-runner-home-");
  const home = join(root, "home");
  const workspace = join(root, "work");
  const write = (path: string, text: string, mode = 0o644) => {
    const at = join(home, path);
    mkdirSync(dirname(at), { recursive: true });
    writeFileSync(at, text);
    chmodSync(at, mode);
  };
  const link = (path: string, target: string) => {
    const at = join(home, path);
    mkdirSync(dirname(at), { recursive: true });
    symlinkSync(target, at);
  };
  const says = (text: string) => `#!/bin/sh\necho "${text}"\n`;
  mkdirSync(join(workspace, "node_modules/.bin"), { recursive: true });
  writeFileSync(join(workspace, "node_modules/.bin/linter"), says("linter of the project"));
  chmodSync(join(workspace, "node_modules/.bin/linter"), 0o755);
  for (const path of kSecrets) write(path, `token = ${kMark} ${path}\n`, 0o600);

  // nvm: npm is a link to a script beside the binary, whose interpreter is found on PATH.
  const version = ".nvm/versions/node/v99.1.0";
  write(`${version}/bin/node`, says("v99.1.0"), 0o755);
  write(`${version}/lib/node_modules/npm/bin/npm-cli.js`, says("npm 99 of nvm"), 0o755);
  link(`${version}/bin/npm`, "../lib/node_modules/npm/bin/npm-cli.js");
  write(".nvm/nvm.sh", "# nvm\n");

  // pyenv: a shim runs pyenv, which finds the version.
  write(".pyenv/version", "3.99.0\n");
  write(
    ".pyenv/bin/pyenv",
    '#!/bin/sh\nexec "$PYENV_ROOT/versions/$(cat "$PYENV_ROOT/version")/bin/$2"\n',
    0o755,
  );
  write(".pyenv/shims/python", "#!/bin/sh\nexec pyenv exec python\n", 0o755);
  write(".pyenv/versions/3.99.0/bin/python", says("Python 3.99.0"), 0o755);

  // uv and pipx: links in ~/.local/bin, scripts of venvs, whose python is a link to another.
  write(
    ".local/share/uv/python/cpython-3.98/bin/python3.98",
    '#!/bin/sh\nexec /bin/sh "$@"\n',
    0o755,
  );
  write(".local/share/uv/tools/ruff/pyvenv.cfg", "home = /nowhere\n");
  link(".local/share/uv/tools/ruff/bin/python", "../../../python/cpython-3.98/bin/python3.98");
  write(
    ".local/share/uv/tools/ruff/bin/ruff",
    `#!${home}/.local/share/uv/tools/ruff/bin/python\necho "ruff of uv"\n`,
    0o755,
  );
  link(".local/bin/ruff", join(home, ".local/share/uv/tools/ruff/bin/ruff"));
  write(".local/share/pipx/venvs/black/bin/black", says("black of pipx"), 0o755);
  link(".local/bin/black", "../share/pipx/venvs/black/bin/black");
  write(".local/bin/own-script", says("a script of one's own"), 0o755);
  write("src/tool/run.sh", says("a tool from its source"), 0o755);
  link(".local/bin/from-source", "../../src/tool/run.sh");

  // rustup: one proxy with many names, which finds the toolchain by HOME.
  write(".rustup/settings.toml", 'default_toolchain = "stable"\n');
  write(".rustup/toolchains/stable/bin/cargo", says("cargo 99.0"), 0o755);
  write(".rustup/toolchains/stable/bin/rustc", says("rustc 99.0"), 0o755);
  write(
    ".cargo/bin/rustup",
    `#!/bin/sh\nexec "\${RUSTUP_HOME:-$HOME/.rustup}/toolchains/stable/bin/$(basename "$0")"\n`,
    0o755,
  );
  for (const name of ["cargo", "rustc"]) link(`.cargo/bin/${name}`, "rustup");

  write(".deno/bin/deno", says("deno 99"), 0o755);
  write(".bun/bin/bun", says("bun 99"), 0o755);
  write("go/bin/gopls", says("gopls 99"), 0o755);
  write("sdk/go1.99/bin/go", '#!/bin/sh\ncat "$(dirname "$0")/../VERSION"\n', 0o755);
  write("sdk/go1.99/VERSION", "go1.99\n");
  write("sdk/go1.99/lib/time", "zones\n");
  write("jdk/bin/java", '#!/bin/sh\ncat "$JAVA_HOME/release"\n', 0o755);
  write("jdk/release", "java 99\n");
  write(".sdkman/candidates/maven/99/bin/mvn", says("maven 99"), 0o755);
  link(".sdkman/candidates/maven/current", "99");
  write(".asdf/shims/elixir", says("elixir of asdf"), 0o755);
  write(".local/share/mise/installs/zig/99/zig", says("zig of mise"), 0o755);
  write(".rbenv/shims/ruby", says("ruby of rbenv"), 0o755);
  write(".volta/bin/yarn", says("yarn of volta"), 0o755);
  write("miniconda3/bin/conda", says("conda 99"), 0o755);
  write(".npm-global/lib/node_modules/tsc/tsc.js", says("tsc of npm-global"), 0o755);
  link(".npm-global/bin/tsc", "../lib/node_modules/tsc/tsc.js");
  write("company.pem", "-----BEGIN CERTIFICATE-----\n");
  write("theirs/bin/evil", says("written by others"), 0o755);
  chmodSync(join(home, "theirs/bin"), 0o777);
  write("other-project/bin/of-project", says("a program of another project"), 0o755);
  write("other-project/lib/code", "its code\n");
  write("a-file", "no directory\n");
  write(
    ".gitconfig",
    `[user]
\tname = "Ada \\"L\\" Lovelace" ; her name
\temail = ada@example.test
\tsigningkey = ABCD
[alias]
\tst = status --short
\tx = !touch ${home}/touched
\ty = -c core.pager=evil log
[core]
\tsshCommand = evil
\thooksPath = ${home}/hooks
[init]
\tdefaultBranch = trunk
\ttemplateDir = ${home}/template
[credential]
\thelper = store
[url "https://${kMark}@example.test/"]
\tinsteadOf = https://example.test/
[include]
\tpath = ${home}/.config/git/credentials
[color "diff"]
\tmeta = yellow bold
[diff "image"]
\ttextconv = evil
[diff]
\texternal = evil
\talgorithm = histogram
`,
  );

  const below = [
    join(workspace, "node_modules/.bin"),
    ...[
      `${version}/bin`,
      ".pyenv/shims",
      ".pyenv/bin",
      ".cargo/bin",
      ".local/bin",
      ".deno/bin",
      ".bun/bin",
      "go/bin",
      "sdk/go1.99/bin",
      "jdk/bin",
      ".sdkman/candidates/maven/current/bin",
      ".asdf/shims",
      ".local/share/mise/installs/zig/99",
      ".rbenv/shims",
      ".volta/bin",
      "miniconda3/bin",
      ".npm-global/bin",
      "other-project/bin",
      "theirs/bin",
      "a-file",
      "missing/bin",
    ].map((path) => join(home, path)),
  ];
  const env = {
    HOME: home,
    PATH: [...below, "/usr/local/bin", "/usr/bin", "/bin"].join(":"),
    NVM_DIR: join(home, ".nvm"),
    PYENV_ROOT: join(home, ".pyenv"),
    JAVA_HOME: join(home, "jdk"),
    NODE_EXTRA_CA_CERTS: join(home, "company.pem"),
    SSL_CERT_FILE: join(home, "missing.pem"),
    TMPDIR: join(root, "tmp"),
    XDG_RUNTIME_DIR: join(root, "run"),
    XDG_CONFIG_HOME: join(home, ".config"),
    LANG: "C",
  };
  mkdirSync(env.TMPDIR);
  const remove = () => rmSync(root, { recursive: true, force: true });
  return { home, workspace, state: join(root, "state"), env, remove };
}

/** Gives this process the home's variables until the test has ended. */
export function live({ env }: MadeHome): void {
  const before = { ...process.env };
  Object.assign(process.env, env);
  onTestFinished(() => {
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
  });
}

/** One line for each path: what it is, and all that a command could have changed. */
export function snapshot(directory: string): string[] {
  const lines: string[] = [];
  const add = (path: string) => {
    const status = lstatSync(path);
    const base = `${path} ${status.mode} ${status.uid} ${status.mtimeMs} ${status.size}`;
    if (status.isSymbolicLink()) lines.push(`${base} -> ${readlinkSync(path)}`);
    else if (status.isFile()) {
      lines.push(`${base} ${createHash("sha256").update(readFileSync(path)).digest("hex")}`);
    } else {
      lines.push(base);
      for (const name of readdirSync(path).sort()) add(join(path, name));
    }
  };
  add(directory);
  return lines;
}

/** Commands that print the same inside and outside, with what they print; HOME stands for the home. */
export const kJobs: readonly [name: string, script: string, out: string][] = [
  ["nvm's node", "node --version", "v99.1.0"],
  ["nvm's npm, a link to a script", "npm", "npm 99 of nvm"],
  ["the first on PATH wins", "command -v node", "HOME/.nvm/versions/node/v99.1.0/bin/node"],
  ["NVM_DIR", 'ls "$NVM_DIR/versions/node"', "v99.1.0"],
  ["pyenv's shim", "python", "Python 3.99.0"],
  ["uv's tool, a script of a venv", "ruff", "ruff of uv"],
  ["pipx's tool", "black", "black of pipx"],
  ["a script in ~/.local/bin", "own-script", "a script of one's own"],
  ["a link to a file elsewhere in the home", "from-source", "a tool from its source"],
  ["cargo by rustup's proxy", "cargo", "cargo 99.0"],
  ["rustc by rustup's proxy", "rustc", "rustc 99.0"],
  ["deno", "deno", "deno 99"],
  ["bun", "bun", "bun 99"],
  ["a program of go install", "gopls", "gopls 99"],
  ["go, which reads beside its binary", "go", "go1.99"],
  ["java by JAVA_HOME", '"$JAVA_HOME/bin/java"', "java 99"],
  ["java on PATH", "java", "java 99"],
  ["sdkman's maven, a link as its version", "mvn", "maven 99"],
  ["asdf's shim", "elixir", "elixir of asdf"],
  ["mise's install", "zig", "zig of mise"],
  ["rbenv's shim", "ruby", "ruby of rbenv"],
  ["volta's shim", "yarn", "yarn of volta"],
  ["conda", "conda", "conda 99"],
  ["npm's own prefix", "tsc", "tsc of npm-global"],
  ["a program of another project", "of-project", "a program of another project"],
  ["the project's own program", "linter", "linter of the project"],
  ["HOME", 'echo "$HOME"; cd; pwd', "HOME\nHOME"],
  ["the tilde", "echo ~", "HOME"],
  [
    "git's identity",
    "git config --get user.name; git config --get user.email",
    'Ada "L" Lovelace\nada@example.test',
  ],
  ["git's alias", "git config --get alias.st", "status --short"],
  ["git's default branch", "git config --get init.defaultBranch", "trunk"],
  ["git's colours", "git config --get color.diff.meta", "yellow bold"],
  ["mktemp", 'f=$(mktemp) && rm "$f" && echo made', "made"],
  ["a certificate that a variable names", 'head -c 10 "$NODE_EXTRA_CA_CERTS"', "-----BEGIN"],
];
