import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

/** The package's folder. */
export const kRoot = join(import.meta.dirname, "../..");

/** Runs the compiler; what it complains of, "" when of nothing. */
export async function tsc(...args: string[]): Promise<string> {
  const program = join(kRoot, "node_modules/typescript/bin/tsc");
  return promisify(execFile)(process.execPath, [program, ...args], { cwd: kRoot }).then(
    () => "",
    (error: { stdout?: string }) => error.stdout || String(error),
  );
}
