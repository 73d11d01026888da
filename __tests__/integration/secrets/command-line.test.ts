/** `--secret` and `--http` of the command line: each source of a value, each wrong text, and what the model is told. */

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

import { type CommandEnd, type CommandLine, makeWorld } from "../network/made-up-internet.js";
import { whyNoOwnNetwork } from "../network/own-network.js";
import { kCli, whyNoCli } from "../support/built-cli.js";
import { describeUnless, plainEnvironment, whyNoBubblewrap } from "../support/requirements.js";

const kValue = "ghp_value-of-the-secret-0123456789";
const kAsk = 'curl -sS -H "Authorization: Bearer $TOKEN" https://a.test/auth/x';

type Line = {
  args: readonly string[];
  out?: string | RegExp;
  err?: string | RegExp;
  code?: number;
};

describeUnless(whyNoBubblewrap ?? whyNoCli ?? whyNoOwnNetwork, "on the command line", () => {
  const world = makeWorld();
  const config = join(world.directory, "config.json");
  const valued = join(world.directory, "valued.json");
  const file = join(world.directory, "token");
  const run = (...args: string[]) => ["run", "--config", config, "--allow-host", "a.test", ...args];
  const sh = (script: string) => ["--", "sh", "-c", script];
  const kLines: Record<string, Line> = {
    "a variable": {
      args: run("--secret", "TOKEN@a.test", ...sh(kAsk)),
      out: "hello from a.test\n",
    },
    "a file": {
      args: run("--secret", `TOKEN=file:${file}@a.test`, ...sh(kAsk)),
      out: "hello from a.test\n",
    },
    "a command": {
      args: run("--secret", `TOKEN=command:printf '%s\\n' "$TOKEN"@a.test`, ...sh(kAsk)),
      out: "hello from a.test\n",
    },
    "a command that fails": {
      args: run("--secret", "TOKEN=command:exit 3@a.test", ...sh(kAsk)),
      out: "native-runner: the value of TOKEN can't be had at the moment\n",
    },
    "a rule": {
      args: run(
        ...["--http", "GET a.test/v1/*", "--http", "POST,PUT a.test"],
        ...sh(`for m in GET POST DELETE; do curl -sS -X $m https://a.test/v2; done`),
      ),
      out: "native-runner: no rule of its host allows it\nhello from a.test\nnative-runner: no rule of its host allows it\n",
      err: /^native-runner: refused: GET a\.test\/v2 \(no rule of its host allows it\)\nnative-runner: refused: DELETE/,
    },
    explain: {
      args: [
        "explain",
        ...run("--secret", "TOKEN@a.test", "--http", "GET a.test/v1/*").slice(1),
        "--",
        "true",
      ],
      out: /TOKEN for a\.test, and never\s+inside; requests: only GET a\.test\/v1\/\*/,
    },
    "explain, as JSON": {
      args: ["explain", "--json", ...run("--secret", "TOKEN@a.test").slice(1), "--", "true"],
      out: /"secrets": \[\s+\{\s+"name": "TOKEN",\s+"hosts"/,
    },
    "doctor, as JSON": {
      args: ["doctor", "--json", "--config", valued],
      out: /"secrets": \[\s*\{\s*"name": "TOKEN",\s*"hosts"/,
    },
    learn: {
      args: ["learn", "--config", valued, "--", "true"],
      out: /"allow": \[\s*"a\.test"\s*\]/,
    },
    why: {
      args: ["why", ...run("--secret", "TOKEN@a.test/v1/*").slice(1), ...sh(kAsk)],
      out: /secret a\.test port 443/,
    },
    "no such variable": {
      args: run("--secret", "NONE@a.test", "--", "true"),
      code: 2,
      err: /Expected a variable NONE that is set\.\nfix: /,
    },
    "no host": {
      args: run("--secret", "TOKEN", "--", "true"),
      code: 2,
      err: /Expected NAME@HOST\[,HOST\], NAME=file:PATH@HOST or NAME=command:COMMAND@HOST/,
    },
    "a host that can't be": {
      args: run("--secret", "TOKEN@127.0.0.1", "--", "true"),
      code: 2,
      err: /`network\.secrets\[0\]\.hosts\[0\]` to be a host such as/,
    },
    "a denied network": {
      args: ["run", "--secret", "TOKEN@a.test", "--", "true"],
      code: 2,
      err: /--secret means nothing where the network is "deny".*\nfix: add --allow-host a\.test\n/,
    },
    "a rule without a host": {
      args: run("--http", "GET", "--http", "a b", "--", "true"),
      code: 2,
      err: /such as "GET api\.a\.test\/v1\/\*"/,
    },
    "a value that is too short": {
      args: run("--secret", `TOKEN=command:echo short@a.test`, ...sh(kAsk)),
      out: "native-runner: the value of TOKEN can't be had at the moment\n",
    },
  };
  const ends = new Map<string, CommandEnd>();
  beforeAll(async () => {
    writeFileSync(config, '{"network":{"allow":[],"allowPrivate":["127.0.0.0/8"]}}');
    const secrets = [{ name: "TOKEN", value: kValue, hosts: ["a.test"] }];
    writeFileSync(valued, JSON.stringify({ network: { allow: ["a.test"], secrets } }));
    writeFileSync(file, `${kValue}\n`);
    chmodSync(file, 0o600);
    const state = join(world.directory, "xdg");
    mkdirSync(state);
    const env = {
      ...plainEnvironment(),
      TOKEN: kValue,
      XDG_STATE_HOME: state,
      NO_COLOR: "1",
      COLUMNS: "120",
      NODE_EXTRA_CA_CERTS: join(world.directory, "cert.pem"),
    } as Record<string, string>;
    const lines = Object.values(kLines).map(
      ({ args }): CommandLine => ({ argv: [...kCli, ...args], cwd: world.workspace, env }),
    );
    const done = await world.command(lines);
    for (const [at, name] of Object.keys(kLines).entries()) ends.set(name, done[at] as CommandEnd);
  }, 120_000);

  test.each(Object.entries(kLines))("%s", (name, { out, err, code = 0 }) => {
    const end = ends.get(name) as CommandEnd;
    if (typeof out === "string") expect(end.out, end.err).toBe(out);
    else if (out !== undefined) expect(end.out, end.err).toMatch(out);
    if (err !== undefined) expect(end.err).toMatch(err);
    expect(end.code, end.err).toBe(code);
    expect(end.out + end.err).not.toContain("of-the-secret");
  });
});
