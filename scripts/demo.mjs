// npm run demo: a real job under the sandbox, then what a hostile command would try, then the record
// of one run. Sets up what is missing first. Exits with 1 when something was not contained, or when
// bwrap can't run here (and says why).
import { existsSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { inRoot } from "./lib/project.mjs";
import { bootstrap, fail, outputOf } from "./lib/run.mjs";

bootstrap();

// These need what bootstrap has just installed and built.
const { BubblewrapNativeRunner } = await import(inRoot("dist", "index.js"));
const { bad, dim, good, heading, printAudit, printProbes, summaryOf } = await import(
  "./demo/report.mjs"
);
const { adviceFor } = await import("./demo/advice.mjs");
const { jobArgv } = await import("./demo/job.mjs");
const { makeProbes } = await import("./demo/probes.mjs");
const { makeScene } = await import("./demo/scene.mjs");
const { tryProbe } = await import("./demo/try.mjs");
const { markedProcesses } = await import("./lib/processes.mjs");

/** The default binds, and the folder of this node where it lies elsewhere (nvm, fnm, volta). */
function roBinds() {
  const usual = ["/usr", "/bin", "/lib", "/lib64", "/etc"].filter((directory) =>
    existsSync(directory),
  );
  const prefix = path.resolve(process.execPath, "../..");
  return usual.some((directory) => `${prefix}/`.startsWith(`${directory}/`))
    ? usual
    : [...usual, prefix];
}

function describeHost() {
  const system =
    readFileSync("/etc/os-release", "utf8").match(/^PRETTY_NAME="?([^"\n]*)/m)?.[1] ?? "Linux";
  const bwrap = outputOf("bwrap", ["--version"])?.trim() ?? "no bwrap";
  const user = process.getuid() === 0 ? "root" : "an ordinary user";
  return `${system}, Linux ${os.release()}, Node ${process.version}, ${bwrap}, as ${user}`;
}

/** Whether a limit can be had here: asking for one that can't is a set-up failure. */
async function canLimitProcesses(runner) {
  const { outcome } = await runner.exec({ argv: ["true"], limits: { maxProcesses: 32 } });
  return outcome.kind === "exited";
}

async function ensureItRuns(runner) {
  try {
    const { outcome } = await runner.exec({ argv: ["true"], limits: { timeoutMs: 10_000 } });
    if (outcome.kind === "setup-failed") fail(adviceFor(outcome.reason));
  } catch (error) {
    fail(adviceFor([error.message, error.fix].filter(Boolean).join("\n")));
  }
}

const scene = await makeScene();
const runner = new BubblewrapNativeRunner({ shadowDir: scene.workspace, roBinds: roBinds() });
const [markerName, markerValue] = scene.marker.split("=");
const context = { ...scene, runner, markerVariable: { [markerName]: markerValue } };
let allWell = true;

console.log(dim(describeHost()));
await ensureItRuns(runner);

heading("A real job in the sandbox: build and test a part of this repository");
console.log(`workspace: ${scene.origin}`);
const argv = jobArgv();
console.log(dim(`$ ${argv.at(-1).trim()}`));
const job = await runner.exec({
  argv,
  limits: { timeoutMs: 120_000 },
  onStdout: (chunk) => process.stdout.write(chunk),
  onStderr: (chunk) => process.stderr.write(chunk),
});
allWell &&= job.exitCode === 0;
console.log(job.exitCode === 0 ? good(summaryOf(job)) : bad(summaryOf(job)));

heading("Hostile commands, with and without the sandbox");
const mayLimit = await canLimitProcesses(runner);
const tries = [];
for (const probe of makeProbes({ ...scene, mayLimit })) tries.push(await tryProbe(probe, context));
printProbes(tries);
allWell &&= tries.every(({ contained }) => contained);

const left = markedProcesses(scene.marker);
allWell &&= left.length === 0;
console.log(
  left.length === 0 ? good("processes left over: none") : bad(`left over: ${JSON.stringify(left)}`),
);

heading(`The record of one run (${tries[0].probe.title})`);
printAudit(tries[0].sandboxed.result.audits[0]);

scene.close();
process.exitCode = allWell ? 0 : 1;
