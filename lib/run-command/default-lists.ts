/** What a project's commands must not read, and must not write although the project is theirs. */

import { homedir, userInfo } from "node:os";
import { join } from "node:path";

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
  ".mozilla",
  ".thunderbird",
  ".local/share/keyrings",
  ".bash_history",
  ".zsh_history",
  ".python_history",
  ".node_repl_history",
  ".psql_history",
  ".mysql_history",
];

/** In a folder: what git, a shell, an editor or a package manager runs by itself, later, outside. */
export const kDefaultReadOnly: readonly string[] = Object.freeze([
  ".git/hooks",
  ".git/config",
  ".git/config.worktree",
  ".githooks",
  ".husky",
  ".gitconfig",
  ".envrc",
  ".mise.toml",
  ".npmrc",
  ".yarnrc.yml",
  ".pnpmfile.cjs",
  ".vscode",
  ".idea",
  ".claude",
  ".mcp.json",
  ".ssh",
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".profile",
  ".zshrc",
  ".zprofile",
  ".zshenv",
  ".vimrc",
  ".exrc",
  ".nvim.lua",
  ".gdbinit",
  ".lldbinit",
]);

/** The home directories of this user: HOME's, and the account's where that is another. */
function homes(): string[] {
  const found = [homedir()];
  try {
    found.push(userInfo().homedir);
  } catch {
    // a user id without an account
  }
  return [...new Set(found)].filter((path) => path.startsWith("/") && path !== "/");
}

/** Absolute paths of secrets of this user's. */
export function defaultSecrets(): string[] {
  return homes().flatMap((home) => kSecretsOfHome.map((path) => join(home, path)));
}
