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
