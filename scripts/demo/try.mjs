// Runs a probe in the sandbox and, where that does no harm, without one. Both forms have the texts of
// the two streams; the sandboxed one also has the runner's whole result.
import { execFile } from "node:child_process";

const timeoutMs = 10_000; // no probe needs more; it bounds the demo

function runUnconfined({ argv: [file, ...args], env }, { workspace, markerVariable }) {
  const options = {
    cwd: workspace,
    timeout: timeoutMs,
    env: { ...process.env, ...env, ...markerVariable },
  };
  return new Promise((resolve) => {
    execFile(file, args, options, (_error, stdout, stderr) => resolve({ stdout, stderr }));
  });
}

async function runSandboxed({ argv, env, limits }, { runner, markerVariable }) {
  const result = await runner.exec({
    argv,
    env: { ...env, ...markerVariable },
    limits: { timeoutMs, ...limits },
  });
  const decoder = new TextDecoder();
  return { result, stdout: decoder.decode(result.stdout), stderr: decoder.decode(result.stderr) };
}

async function attempt(probe, start) {
  probe.before?.();
  const run = await start();
  await probe.settle?.();
  const got = { says: probe.says(run), succeeded: probe.succeeded(run), result: run.result };
  probe.after?.();
  return got;
}

/** `contained`: it failed in the sandbox, and succeeded without where that was tried. */
export async function tryProbe(probe, context) {
  const unconfined = probe.unconfined
    ? await attempt(probe, () => runUnconfined(probe, context))
    : undefined;
  const sandboxed = await attempt(probe, () => runSandboxed(probe, context));
  const contained = !sandboxed.succeeded && (unconfined?.succeeded ?? true);
  return { probe, unconfined, sandboxed, contained };
}
