import { spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

import {
  BubblewrapNativeRunner,
  Bwrap,
  createRuntime,
  LocalNativeRunner,
  sandboxFromEnv,
} from "../../../../dist/index.js";

const kMain = fileURLToPath(new URL("../../../../dist/cli/main.js", import.meta.url));
const never = () => new Promise(() => {});

const kAnswers = {
  allow: () => "allow",
  "a promise of allow": async () => "allow",
  deny: () => "deny",
  "a promise of deny": async () => "deny",
  throws: () => {
    throw new Error("no");
  },
  rejects: () => Promise.reject(new Error("no")),
  true: () => true,
  nothing: () => {},
};

/** The command line runs in Node whatever engine this host runs in. */
const kNodeProgram = process.env.NATIVE_RUNNER_TEST_NODE ?? process.execPath;

async function cli(args, env = {}) {
  const child = spawn(kNodeProgram, [kMain, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close"),
  ]);
  return { out, err, code };
}

export const scenarios = {
  // The command goes on when the host has heard of what it has done so far.
  async events({ shadowDir, rules, port }) {
    const reported = [];
    const name = "@openagentic/native-runner:connection";
    const runner = new BubblewrapNativeRunner({ shadowDir, network: rules });
    const quiet = await runner.exec({ argv: ["bash", "-c", `: > /dev/tcp/a.test/${port}`] });
    let started; // events may come with its news, before we have the process
    const on = ({ run, event, connection }) => {
      reported.push([run, event, connection.host]);
      if (event === "opened" || connection.host === "q0.test")
        started.then((live) => live.stdin.write("on\n"));
    };
    subscribe(name, on);
    try {
      const questions = "for i in $(seq 0 49); do (: > /dev/tcp/q0.test/80) 2> /dev/null; done";
      const script = `exec 3<> /dev/tcp/a.test/${port}; read line; echo x >&3; cat <&3; exec 3>&-; ${questions}; read line; echo "$line"`;
      started = runner.spawn({ argv: ["bash", "-c", script], limits: { timeoutMs: 30_000 } });
      const live = await started;
      const [out, { exitCode, audits }] = await Promise.all([text(live.stdout), live.result]);
      const [{ count }] = audits[0].connections.filter(({ verdict }) => verdict === "denied");
      return { reported, out, exitCode, count, quiet: quiet.exitCode };
    } finally {
      unsubscribe(name, on);
      await runner.close();
    }
  },

  async answers({ shadowDir, rules, argv, reported }) {
    const said = {};
    for (const [name, onRequest] of Object.entries(kAnswers)) {
      const runner = new BubblewrapNativeRunner({ shadowDir, network: { ...rules, onRequest } });
      const result = await runner.exec({ argv: argv("b.test") });
      said[name] = [result.exitCode, result.stdoutText, ...reported(result)];
      await runner.close();
    }
    return said;
  },

  async asked({ shadowDir, rules, argv, reported, port }) {
    const asked = [];
    const network = {
      ...rules,
      deny: ["c.test"],
      onRequest({ host, port: at, via, command, signal }) {
        const names = command.at(-1).match(/[abc]\.test(?=\/)/g);
        asked.push([host, at === port, via, names, signal.aborted]);
        return "allow";
      },
    };
    const runner = new BubblewrapNativeRunner({ shadowDir, network });
    const result = await runner.exec({ argv: argv("a.test", "b.test", "c.test") });
    const { connections, layers } = result.audits[0];
    const plain = await runner.exec({ argv: ["true"] });
    await runner.close();
    const [{ bytesOut, bytesIn, address }] = connections;
    return {
      asked,
      out: result.stdoutText,
      reported: reported(result),
      layers,
      bytesOut,
      bytesIn,
      address,
      none: reported(plain),
    };
  },

  async kinds({ shadowDir, rules, argv, reported }) {
    const network = { ...rules, onRequest: ({ host }) => (host === "b.test" ? "allow" : "deny") };
    const input = { argv: argv("a.test", "b.test", "c.test") };
    const said = {};
    for (const prewarm of [0, 1]) {
      const runner = new BubblewrapNativeRunner({ shadowDir, network, prewarm });
      if (prewarm) await runner.warm();
      const result = await runner.exec(input);
      said[result.audits[0].prewarmed ? "prewarmed" : "cold"] = reported(result);
      await runner.close();
    }
    const runner = new BubblewrapNativeRunner({ shadowDir, network });
    const session = await runner.openSession();
    const other = await session.exec({ argv: argv("c.test") });
    said.session = reported(await session.exec(input));
    said.before = reported(other);
    await session.close();
    said.batch = (await runner.execBatch([input])).flatMap(reported);
    const live = await runner.spawn(input);
    said.live = reported(await live.result);
    const transaction = await runner.openTransaction({ directory: process.env.STATE });
    said.transaction = reported(await transaction.exec(input));
    await transaction.discard();
    await runner.close();
    const bwrap = new Bwrap(shadowDir, [], false, { network });
    const [, , script] = input.argv;
    said.bwrap = await bwrap.exec(`bash -c '${script}'`);
    return said;
  },

  // The run's end is the end of the question, and the process ends by itself.
  async unanswered({ shadowDir, rules, argv, reported }) {
    const aborted = [];
    const onRequest = ({ signal }) => {
      signal.addEventListener("abort", () => aborted.push(true));
      return never();
    };
    const runner = new BubblewrapNativeRunner({ shadowDir, network: { ...rules, onRequest } });
    const result = await runner.exec({ argv: argv("b.test"), limits: { timeoutMs: 1500 } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { outcome: result.outcome.kind, reported: reported(result), aborted };
  },

  // A callback that holds its runner is no reason to keep either.
  async collected({ shadowDir, rules, argv }) {
    let gone = 0;
    const registry = new FinalizationRegistry(() => {
      gone += 1;
    });
    for (let i = 0; i < 4; i += 1) {
      let runner;
      const onRequest = () => (runner ? "allow" : "deny");
      runner = new BubblewrapNativeRunner({
        shadowDir,
        network: { ...rules, onRequest },
        prewarm: 0,
      });
      registry.register(runner, undefined);
      if (i === 0) await runner.exec({ argv: argv("b.test") });
    }
    for (let turn = 0; turn < 100 && gone < 3; turn += 1) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return gone >= 3;
  },

  async cli({ shadowDir, port, argv }) {
    const common = ["run", "-w", shadowDir, "--no-stdin"];
    const command = ["--", ...argv("a.test", "b.test")];
    const config = process.env.CONFIG;
    return {
      streams: await cli([
        ...common,
        "--allow-host",
        `a.test:${port}`,
        "--config",
        config,
        ...command,
      ]),
      json: await cli([
        ...common,
        "--allow-host",
        `a.test:${port}`,
        "--config",
        config,
        "--json",
        ...command,
      ]),
      wrong: await cli([...common, "--allow-host", "127.0.0.1", ...command]),
      operator: await cli([...common, "--config", config, ...command], {
        OPENAGENTIC_SANDBOX_ALLOW_HOSTS: `b.test:${port}`,
      }),
      more: await cli([...common, "--allow-host", "c.test", ...command], {
        OPENAGENTIC_SANDBOX_ALLOW_HOSTS: "b.test",
      }),
    };
  },

  // What a person sees at the end.
  async terminal({ shadowDir, port, argv }) {
    const local = new LocalNativeRunner({ shadowDir });
    const words = ["run", "-w", shadowDir, "--no-stdin", "--config", process.env.CONFIG];
    const allowed = ["--allow-host", `a.test:${port}`];
    const live = await local.spawn({
      argv: [kNodeProgram, kMain, ...words, ...allowed, "--", ...argv("a.test", "b.test")],
      pty: { cols: 200, rows: 40, term: "dumb" },
    });
    const [out, { exitCode }] = await Promise.all([text(live.stdout), live.result]);
    return { out: out.replaceAll("\r", ""), exitCode };
  },

  async chosen({ shadowDir, port, rules, argv, reported }) {
    const runtime = await createRuntime({ network: rules }, { environment: {} });
    const { layers, probes } = await runtime.isAvailable();
    const run = async (made) =>
      reported(await made.runner({ shadowDir }).exec({ argv: argv("a.test", "b.test") }));
    const sandbox = await sandboxFromEnv(
      {
        PATH: process.env.PATH,
        OPENAGENTIC_SANDBOX_BACKEND: "bwrap",
        OPENAGENTIC_SANDBOX_ALLOW_HOSTS: `b.test:${port}`,
      },
      { config: { network: rules } },
    );
    let wrap;
    try {
      sandbox.processSandbox.wrap({ cmd: "true", args: [], env: {} });
    } catch (error) {
      wrap = error.message;
    }
    return {
      name: runtime.name,
      byDomain: layers.includes("network-by-domain"),
      probes: Object.fromEntries(probes.map(({ name, verdict }) => [name, verdict])),
      runtime: await run(runtime),
      environment: await run(sandbox),
      wrap,
    };
  },
};
