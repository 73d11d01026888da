// Ends runs at 0 to 20 ms after their start, each so many times: KIND abort|timeout TRIES WORKSPACE.
// After each one settles nothing of it may be alive, though bwrap may only just have begun to set up.
// Of a warm runner's only the commands are told from what stands, until it is closed.
import { setTimeout as delay } from "node:timers/promises";
import { leftovers, makeRunner, say } from "./common.mjs";

const [kind, how, tries, workspace] = process.argv.slice(2);
const kLastMs = 20;

const runner = makeRunner(kind, workspace);
const command = "setsid sh -c 'trap \"\" TERM; sleep 1000' & (sleep 1000 &) & sleep 1000";
const argv = ["sh", "-c", command];

const isCommand = (stat) => /^\d+ \((sh|sleep|setsid)\)/.test(stat);
const leftBy = () => (kind === "warm" ? leftovers().filter(isCommand) : leftovers());

async function endAfter(ms) {
  if (how === "timeout") return runner.exec({ argv, limits: { timeoutMs: Math.max(ms, 0.001) } });
  const controller = new AbortController();
  const running = runner.exec({ argv, signal: controller.signal });
  if (ms > 0) await delay(ms);
  controller.abort();
  return running;
}

await runner.exec({ argv: ["true"] });
const kinds = {};
const left = [];
for (let ms = 0; ms <= kLastMs; ms += 1) {
  for (let attempt = 0; attempt < Number(tries); attempt += 1) {
    const { outcome, audits } = await endAfter(ms);
    kinds[outcome.kind] = (kinds[outcome.kind] ?? 0) + 1;
    for (const found of leftBy()) {
      const { kill, timing } = audits[0];
      const reported = JSON.stringify({ ms, attempt, kill, timing });
      left.push(`${found} after ${reported}`);
    }
  }
}
if (kind === "warm") {
  await runner.close();
  left.push(...leftovers());
}
say({ kinds, left });
