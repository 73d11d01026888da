/** What of a home directory commands must neither read nor write. */

import { realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";

/** Below a home directory: keys, tokens, cookies, and histories that have them typed in. */
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

/** In a home directory that is shared as a whole. */
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

/** Absolute paths of secrets below such directories. */
export const secretsOf = (directories: readonly string[]): string[] =>
  directories.flatMap((home) => kSecretsOfHome.map((path) => `${home}/${path}`));

/** Absolute paths of secrets of this user's. */
export const defaultSecrets = (): string[] => secretsOf(homes());

/** Where this user is at home. */

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path; // not there
  }
}

let account: { uid: number | undefined; home: string | undefined } | undefined;

/** What the system's accounts say; asked once, since that may be a question to a server. */
function accountHome(): string | undefined {
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

/** HOME as the host has it now: in Bun homedir() goes by the HOME that the process was started with. */
export const homeDirectory = (): string => process.env.HOME || homedir();

/** The home directories of this user, as real paths: HOME's, and the account's where it is another. */
export function homes(): string[] {
  const home = homedir();
  const named = new Set([homeDirectory(), home, accountHome() ?? home]);
  return [...new Set([...named].map(realPath))].filter(
    (path) => path.startsWith("/") && path !== "/",
  );
}

/**
 * In a project: what git, a shell, an editor, a package manager or an agent runs by itself, later,
 * outside. What begins with .git/ is meant of each directory that git keeps the repository in. Each
 * that is missing shows as an empty directory in there, so the list is short.
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
