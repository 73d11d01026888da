/** Long text at a terminal, in the user's pager. */

// biome-ignore lint/style/noRestrictedImports: a pager needs this process's own terminal
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

function isOnPath(program: string): boolean {
  const directories = (process.env.PATH ?? "").split(delimiter).filter(isAbsolute);
  return directories.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** $PAGER, as a shell's words; else less, where there is one. "" or "cat": none. */
function pagerCommand(): string {
  const named = process.env.PAGER?.trim();
  if (named !== undefined) return named === "cat" ? "" : named;
  return isOnPath("less") ? "less -R" : "";
}

/** False where it can't be started. */
function showIn(command: string, text: string): Promise<boolean> {
  // As git has it: what fits on the screen is only written.
  const env = { LESS: "FRX", LV: "-c", ...process.env };
  const stdio = ["pipe", "inherit", "inherit"] as const;
  const pager = spawn("/bin/sh", ["-c", command], { stdio: [...stdio], env });
  // Ctrl-C is the pager's, and no interrupt of ours.
  const others = process.listeners("SIGINT");
  const ignore = () => {};
  process.removeAllListeners("SIGINT").on("SIGINT", ignore);
  const ended = new Promise<boolean>((resolve) => {
    pager.on("error", () => resolve(false));
    pager.on("close", (code) => resolve(code !== 126 && code !== 127)); // not executable, missing
  });
  pager.stdin?.on("error", () => {}); // who leaves early has seen enough
  pager.stdin?.end(text);
  return ended.finally(() => {
    process.off("SIGINT", ignore);
    for (const other of others) process.on("SIGINT", other);
  });
}

/**
 * Shows a text that has no control characters but colours, and resolves when the user has seen it. Away
 * from a terminal, and where the pager can't be started, it is written to standard output.
 */
export async function page(text: string): Promise<void> {
  const command = process.stdout.isTTY ? pagerCommand() : "";
  if (command === "" || !(await showIn(command, text))) process.stdout.write(text);
}
