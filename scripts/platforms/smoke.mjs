// Runs the smoke program (__tests__/platforms/smoke) on a platform, and reads what it says.
import path from "node:path";
import { runBeside } from "../lib/run.mjs";

const kProgram = "__tests__/platforms/smoke/main.mjs";

function linesOf(output) {
  return output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}

/**
 * What the program said. Pure.
 * @returns {{ passed: number, failed: string[], leftOut: string[], place: string, importMs?: number, firstMs?: number }}
 */
export function readSmoke(output, code) {
  const lines = linesOf(output);
  const sum = lines.find(({ passed }) => passed !== undefined);
  const told = (result) =>
    lines.filter((line) => line.result === result).map(({ name, note }) => `${name}: ${note}`);
  const failed = told("failed");
  if (sum === undefined) failed.push(`it ended with ${code}: ${output.trim().slice(-500)}`);
  return {
    passed: sum?.passed ?? 0,
    failed,
    leftOut: told("left out"),
    place: sum?.place ?? "",
    importMs: sum?.importMs,
    firstMs: sum?.firstMs,
  };
}

/**
 * @param platform `words`, those of the engine; `args`, for the program.
 * @param as how to run it: `directory` of the checkout, `before` and `env` of an ordinary user.
 */
export async function smoke({ words, args = [] }, as) {
  const all = [...as.before, ...words, path.join(as.directory, kProgram), as.directory, ...args];
  const [program, ...rest] = all;
  const { code, output } = await runBeside(program, rest, {
    cwd: as.directory,
    env: { ...as.env, NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" },
    ...as.spawnOptions,
  });
  return readSmoke(output, code);
}
