/**
 * Shows what the package can do on a platform. A plain program, so that any engine runs it, and an
 * emulated machine in bearable time:
 *   node main.mjs PACKAGE [--bwrap PROGRAM] [--slow FACTOR] [--only bubblewrap|landlock] [--name NAME]
 * PACKAGE is the directory with dist/; NAME leads to 127.0.0.1, and is no "localhost". One line of JSON for
 * each check, and one of all with the milliseconds after which the package was imported and the first
 * command had ended; exit code 1 when one failed.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { checkEffects } from "./effects.mjs";
import { expectEqual, shown, textOf } from "./expectations.mjs";
import { checkLive } from "./live.mjs";
import { checkNames } from "./names.mjs";
import { Report } from "./report.mjs";
import { checkWalls } from "./walls.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    bwrap: { type: "string", default: "bwrap" },
    slow: { type: "string", default: "1" },
    only: { type: "string" },
    name: { type: "string" },
  },
});
const report = new Report(Number(values.slow));
const directory = resolve(positionals[0] ?? ".");
const begun = performance.now();
const api = await import(pathToFileURL(join(directory, "dist/index.js")).href);
const times = { importMs: Math.round(performance.now() - begun) };

async function checkKind(kind, make, workspace) {
  let runner;
  const isThere = await report.check(`${kind}: a command`, async () => {
    runner = make({});
    const limits = { timeoutMs: 20_000 * report.slow };
    const run = await runner.exec({ argv: ["sh", "-c", "echo hi; exit 3"], limits });
    expectEqual(textOf(run.stdout), "hi", shown(run));
    expectEqual(run.exitCode, 3, shown(run));
    times.firstMs ??= Math.round(performance.now() - begun);
    return run.audits[0].layers.join(", ");
  });
  if (isThere) {
    await checkWalls({ report, kind, make, runner, workspace });
    await checkLive({ report, kind, runner });
    if (kind === "bubblewrap") {
      await checkEffects({ report, make, runner, workspace });
      await checkNames({ report, make, name: values.name });
    }
  }
  await report.check(`${kind}: close`, async () => runner?.close());
}

const kinds = {
  bubblewrap: (workspace) => (options) =>
    new api.BubblewrapNativeRunner({ shadowDir: workspace, bwrapPath: values.bwrap, ...options }),
  landlock: (workspace) => (options) =>
    new api.LandlockNativeRunner({ shadowDir: workspace, ...options }),
};
for (const [kind, makeIn] of Object.entries(kinds)) {
  if (values.only !== undefined && values.only !== kind) continue;
  const workspace = mkdtempSync(join(tmpdir(), "native-runner-smoke-"));
  await checkKind(kind, makeIn(workspace), workspace);
  rmSync(workspace, { recursive: true, force: true });
}
const { bun, deno, node } = process.versions;
const engine = bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${node}`;
const { passed, failed } = report;
const place = `${release()} ${process.arch} ${engine} uid ${process.getuid()}`;
process.stdout.write(
  `${JSON.stringify({ passed, failed, place, ...times, ms: Math.round(performance.now() - begun) })}\n`,
);
process.exitCode = failed > 0 ? 1 : 0;
