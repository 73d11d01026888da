/** Paths of a home directory or project that commands must not read or write. */

import { homedir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";

import { realPathOr } from "./paths.js";

/** Below a home directory: keys, tokens, cookies, and histories that may contain typed secrets. */
const kSecretsOfHome: readonly string[] = [
  ".ssh",
  ".aws",
  ".azure",
  ".gnupg",
  ".kube",
  ".docker",
  ".netrc",
  "_netrc",
  ".npmrc",
  ".yarnrc.yml",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".s3cfg",
  ".boto",
  ".oci",
  ".vault-token",
  ".git-credentials",
  ".password-store",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".gem/credentials",
  ".m2/settings.xml",
  ".gradle/gradle.properties",
  ".composer/auth.json",
  ".terraform.d/credentials.tfrc.json",
  ".claude/.credentials.json",
  ".claude.json",
  ".codex/auth.json",
  ".gemini",
  ".config/gcloud",
  ".config/gh",
  ".config/glab-cli",
  ".config/hub",
  ".config/git/credentials",
  ".config/op",
  ".config/doctl",
  ".config/heroku",
  ".config/rclone",
  ".config/sops",
  ".config/containers/auth.json",
  ".config/composer/auth.json",
  ".config/configstore",
  ".config/github-copilot",
  ".config/google-chrome",
  ".config/chromium",
  ".config/BraveSoftware",
  ".config/microsoft-edge",
  ".config/vivaldi",
  ".config/1Password",
  ".config/Bitwarden",
  ".config/stripe",
  ".config/pip/pip.conf",
  ".pip/pip.conf",
  ".cache/huggingface/token",
  ".databrickscfg",
  ".fly/config.yml",
  ".pulumi/credentials.json",
  ".mozilla",
  ".thunderbird",
  "snap/firefox",
  "snap/chromium",
  ".var/app",
  ".local/share/keyrings",
  ".bash_history",
  ".zsh_history",
  ".local/share/fish/fish_history",
  ".python_history",
  ".node_repl_history",
  ".psql_history",
  ".mysql_history",
];

/** Read-only paths of a home directory that is shared as a whole. */
export const kReadOnlyOfHome: readonly string[] = [
  ".ssh",
  ".gitconfig",
  ".config/git",
  ".config/fish",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".profile",
  ".zshrc",
  ".zprofile",
  ".zshenv",
  ".zlogin",
  ".vimrc",
  ".gdbinit",
  ".local/bin",
];

/** Returns the absolute paths of secrets below these directories. */
export const secretsOf = (directories: readonly string[]): string[] =>
  directories.flatMap((home) => kSecretsOfHome.map((path) => `${home}/${path}`));

/** Returns the absolute paths of this user's secrets. */
export const defaultSecrets = (resolve?: (path: string) => string): string[] =>
  secretsOf(homes(resolve));

/** The home directories of this user. */

let account: { uid: number | undefined; home: string | undefined } | undefined;

/** Returns the home directory of the user's account; cached, since the lookup may query a server. */
export function accountHome(): string | undefined {
  const uid = process.geteuid?.();
  if (account === undefined || account.uid !== uid) {
    try {
      account = { uid, home: userInfo().homedir };
    } catch {
      account = { uid, home: undefined }; // a user id without an account
    }
  }
  return account.home;
}

/** Returns HOME as the host has it now: in Bun, homedir() uses the HOME from the start of the process. */
export const homeDirectory = (): string => process.env.HOME || homedir();

/**
 * Returns the default directory for what is kept of a kind: in $XDG_STATE_HOME, which counts only if it is absolute,
 * otherwise in ~/.local/state (XDG Base Directory Specification).
 */
export function stateDirectory(kind: "transactions" | "homes" | "run-homes" | "images"): string {
  const named = process.env.XDG_STATE_HOME ?? "";
  const state = isAbsolute(named) ? named : join(homeDirectory(), ".local", "state");
  return join(state, "openagentic", kind);
}

/**
 * Returns the home directories of this user as real paths: HOME's, and the account's if it differs.
 * @param resolve returns the real path, or the path itself; default: blocks as long as its file system does.
 */
export function homes(resolve: (path: string) => string = realPathOr): string[] {
  const home = homedir();
  const named = new Set([homeDirectory(), home, accountHome() ?? home]);
  return [...new Set([...named].map((path) => resolve(path)))].filter(
    (path) => path.startsWith("/") && path !== "/",
  );
}

/**
 * Paths in a project that git, a shell, an editor, a package manager or an agent later runs on its own,
 * outside the sandbox. A name that begins with .git/ applies to every directory in which git keeps the
 * repository. Each missing path appears in the sandbox as an empty directory or a file
 * (native/policy/bubblewrap/project.cpp), so the list is short.
 */
export const kProtectedNames: readonly string[] = [
  ".git/hooks",
  ".git/config",
  ".git/config.worktree",
  ".git/commondir",
  ".githooks",
  ".husky",
  ".envrc",
  ".npmrc",
  ".yarnrc.yml",
  ".pnpmfile.cjs",
  ".vscode",
  ".idea",
  ".claude",
  ".mcp.json",
];
