// The ways in which commands get a sandbox with devices, for a host whose /dev is one of its own.
import { BubblewrapNativeRunner, LandlockNativeRunner } from "../../../dist/index.js";

const sh = (script) => ({ argv: ["sh", "-c", script] });
const told = ({ outcome, stdoutText, audits }) => ({
  kind: outcome.kind,
  reason: outcome.reason,
  out: stdoutText?.trim(),
  start: audits?.[0]?.start,
});
const failed = ({ code, message }) => ({ kind: code, reason: message });

const running = (runner) => ({
  exec: async (script) => told(await runner.exec(sh(script))),
  close: () => runner.close?.(),
});

async function untilCloned(runner) {
  const reasons = new Set();
  for (let tries = 0; tries < 200; tries += 1) {
    const { audits } = await runner.exec(sh("true"));
    if (audits[0]?.start === "cloned") return;
    reasons.add(audits[0]?.coldReason);
  }
  throw new Error(`no run was cloned: ${[...reasons].join("; ")}`);
}

const bubblewrap = (options) =>
  new BubblewrapNativeRunner({ prewarm: 0, clone: "never", tools: "none", ...options });

async function openedTransaction(options, backend) {
  const runner = bubblewrap(options);
  const transaction = await runner.openTransaction({
    backend,
    directory: `${options.shadowDir}.state`,
  });
  return {
    exec: async (script) => told(await transaction.exec(sh(script))),
    close: async () => {
      await transaction.discard();
      await runner.close();
    },
  };
}

/** Each opens a way: `exec(script)` tells the end of a command. */
export const kWays = {
  "a cold run": async (options) => running(bubblewrap(options)),
  "a prewarmed run": async (options) => {
    const runner = bubblewrap({ ...options, prewarm: 1 });
    const warm = () => runner.warm().catch(() => 0);
    await warm();
    return { ...running(runner), warm };
  },
  "a clone": async (options) => {
    const runner = bubblewrap({ ...options, clone: "auto" });
    const warm = () => untilCloned(runner);
    return { ...running(runner), warm };
  },
  "a session": async (options) => {
    const runner = bubblewrap(options);
    return {
      exec: async (script) => {
        try {
          const session = await runner.openSession();
          const result = await session.exec(sh(script));
          await session.close();
          return told(result);
        } catch (error) {
          return failed(error);
        }
      },
      close: () => runner.close(),
    };
  },
  "a live process": async (options) => {
    const runner = bubblewrap(options);
    return {
      exec: async (script) => {
        const process = await runner.spawn(sh(script));
        let out = "";
        for await (const chunk of process.stdout) out += Buffer.from(chunk).toString();
        return told({ ...(await process.result), stdoutText: out });
      },
      close: () => runner.close(),
    };
  },
  "a transaction": (options) => openedTransaction(options, "auto"),
  "a transaction by copy": (options) => openedTransaction(options, "copy"),
  "a network by domain": async (options) =>
    running(bubblewrap({ ...options, network: { allow: ["a.test"] } })),
  "a run with Landlock inside": async (options) =>
    running(bubblewrap({ ...options, layers: ["landlock"] })),
  "a run with isolation compat": async (options) =>
    running(bubblewrap({ ...options, isolation: "compat" })),
  "a run without a /dev": async (options) => running(bubblewrap({ ...options, devBind: false })),
  "a run with Landlock alone": async ({ shadowDir, devices }) =>
    running(new LandlockNativeRunner({ shadowDir, devices, tools: "none" })),
};
