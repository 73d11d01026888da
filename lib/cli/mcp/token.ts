import { randomBytes } from "node:crypto";
import { readFileSync, statSync } from "node:fs";

import { CliError } from "../terminal.js";

const kLeast = 16;
const kOthers = 0o077;

/** The token of a file, which nobody else may read, or a new one. @throws CliError */
export function tokenOf(file: string | undefined): string {
  if (file === undefined) return randomBytes(32).toString("base64url");
  let text: string;
  try {
    const { mode } = statSync(file);
    if ((mode & kOthers) !== 0) {
      throw new CliError(`--token-file ${file} can be read by others`, 2, `chmod 600 ${file}`);
    }
    text = readFileSync(file, "utf8").trim();
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`--token-file ${file} can't be read: ${(error as Error).message}`, 2);
  }
  if (text.length >= kLeast && /^[\x21-\x7e]+$/.test(text)) return text;
  throw new CliError(
    `--token-file ${file} has no token: ${kLeast} or more visible ASCII characters`,
    2,
    `head -c 32 /dev/urandom | base64 | tr -d = > ${file}`,
  );
}
