/** What of a home directory commands must neither read nor write. */

import { realpathSync } from "node:fs";
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

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // not there
  }
}

/** The home directories of this user, as real paths: HOME's, and the account's where it is another. */
export function homes(): string[] {
  const found = [homedir()];
  try {
    found.push(userInfo().homedir);
  } catch {
    // a user id without an account
  }
  return [...new Set(found.map(realPath))].filter((path) => path.startsWith("/") && path !== "/");
}

/** Absolute paths of secrets of this user's. */
export function defaultSecrets(): string[] {
  return homes().flatMap((home) => kSecretsOfHome.map((path) => join(home, path)));
}
