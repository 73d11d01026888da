/** Where this user is at home. */

import { realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";

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
