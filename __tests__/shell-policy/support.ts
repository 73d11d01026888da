/** Real shells to compare with; they parse, or print words, and run nothing of the corpus. */

import { spawnSync } from "node:child_process";

import { kHungMs } from "../support/waits.js";

const kEnvironment = { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C.UTF-8" };

/** One bash for all texts, each parsed by `bash -n` in a child: whether it was read. */
export function parsedByBash(texts: readonly string[]): boolean[] {
  const script =
    'while IFS= read -r -d "" text; do bash -O extglob -n -c "$text" && echo y || echo n; done';
  const { stdout, status } = spawnSync("bash", ["-c", script], {
    input: texts.map((text) => `${text}\0`).join(""),
    encoding: "utf8",
    env: kEnvironment,
    timeout: kHungMs,
  });
  if (status !== 0) throw new Error(`bash ended with ${status}`);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line === "y");
}

/** The words that bash makes of each text, which must hold no command. */
export function wordsByBash(texts: readonly string[]): string[][] {
  const script =
    'PATH=; while IFS= read -r -d "" text; do eval "printf \'%s\\0\' $text"; printf "\\1\\0"; done';
  const { stdout, status } = spawnSync("bash", ["-c", script], {
    input: texts.map((text) => `${text}\0`).join(""),
    encoding: "utf8",
    env: kEnvironment,
    timeout: kHungMs,
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`bash ended with ${status}`);
  return stdout
    .split("\u0001\0")
    .slice(0, -1)
    .map((line) => line.split("\0").slice(0, -1));
}

/** Which of `names`, commands that don't exist, a shell tries to start; nothing is on its PATH. */
export function startedBy(
  shell: "sh" | "bash",
  text: string,
  names: readonly string[],
  cwd: string,
): string[] {
  const { stderr } = spawnSync(`/bin/${shell}`, ["-c", text], {
    cwd,
    input: "",
    encoding: "utf8",
    env: { PATH: "/nonexistent", LC_ALL: "C.UTF-8" },
    timeout: 2_000,
  });
  const missing = new Set(
    [...(stderr ?? "").matchAll(/(\S+): (?:command )?not found/g)].map(([, name]) => name),
  );
  return names.filter((name) => missing.has(name));
}
