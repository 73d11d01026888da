/** The user's browser, without telling the address to who lists processes. */

// biome-ignore lint/style/noRestrictedImports: the browser goes on when this has ended
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { printError } from "../terminal.js";

const kOwnersFile = 0o600;

const redirection = (url: string) =>
  `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">` +
  `<meta http-equiv="refresh" content="0; url=${url}"><title>native-runner</title>\n`;

/**
 * Opens a page by way of a file that is its user's alone: arguments of a browser can be read by others
 * of the host, and the address has a token.
 */
export async function openPage(url: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "native-runner-review-"));
  const file = join(directory, "open.html");
  writeFileSync(file, redirection(url), { mode: kOwnersFile });
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const browser = spawn("xdg-open", [pathToFileURL(file).href], {
    stdio: "ignore",
    detached: true,
  });
  browser.unref();
  const failed = once(browser, "error").then(([error]) => error as Error);
  const started = once(browser, "spawn").then(() => undefined);
  const error = await Promise.race([failed, started]);
  if (error) printError("there is no xdg-open to open it with: open the address yourself");
}
