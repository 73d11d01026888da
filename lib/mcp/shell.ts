import { existsSync } from "node:fs";

const kShells = ["/bin/bash", "/usr/bin/bash"];

/** How a command line is run: by bash where this host has one, which is what models write for. */
export function shellWords(line: string): string[] {
  const shell = kShells.find((path) => existsSync(path)) ?? "/bin/sh";
  return [shell, "-c", "--", line]; // "--": a line that begins with a dash is no option
}
