// Logs made by the functions that the writer seals with, to be bent.

import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { onTestFinished } from "vitest";

import { fingerprintOf, isSignatureDue, kGenesis, seal } from "../../lib/audit-log/chain.js";
import type { AuditKind } from "../../types/audit-log.js";

export const keys = generateKeyPairSync("ed25519");

type Made = { kind: AuditKind; event: object };

/** Lines of a log without their ends: an `open`, then so many runs. */
export function madeLines(
  runs: number,
  { key, signEvery = 4 }: { key?: KeyObject; signEvery?: number } = {},
): string[] {
  const open = { signEvery, publicKey: key === undefined ? null : fingerprintOf(key) };
  const made: Made[] = [
    { kind: "open", event: open },
    ...Array.from({ length: runs }, (_, at) => ({
      kind: "run" as const,
      event: { argv: [`${at}`] },
    })),
  ];
  return sealAll(made, key, signEvery);
}

export function sealAll(
  made: readonly Made[],
  key?: KeyObject,
  signEvery = 4,
  from = { seq: 0, prev: kGenesis },
): string[] {
  let { prev } = from;
  return made.map(({ kind, event }, at) => {
    const seq = from.seq + at;
    const record = {
      seq,
      prev,
      at: "2026-11-23T10:00:00.000Z",
      kind,
      event: JSON.stringify(event),
    };
    const { line, hash } = seal(record, isSignatureDue(kind, seq, signEvery) ? key : undefined);
    prev = hash;
    return line;
  });
}

export const hashIn = (line: string | undefined): string =>
  (JSON.parse(line ?? "") as { hash: string }).hash;

/** A directory of the test's own. */
export function directory(): string {
  const made = mkdtempSync(join(tmpdir(), "native-runner-audit-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A log with these lines; its path. */
export function written(lines: readonly string[], path = join(directory(), "log")): string {
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return path;
}
