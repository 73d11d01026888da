// As root too: limits, ids and set-up differ for root.
/** Which of the host's variables reach a command. */

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";

import { kNodeProgram } from "../support/node-arguments.js";
import {
  BubblewrapNativeRunner,
  LocalNativeRunner,
  type NativeRunner,
} from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";

type Policy = "scrub" | "inherit" | "clean" | string[];
const kRunners: [string, (envPolicy: Policy) => NativeRunner][] = [
  ["strict", (envPolicy) => new BubblewrapNativeRunner({ shadowDir: tempDirectory(), envPolicy })],
  ["local", (envPolicy) => new LocalNativeRunner({ shadowDir: tempDirectory(), envPolicy })],
];

const kSecret = [
  "AWS_SECRET_ACCESS_KEY",
  "OPENAI_API_KEY",
  "ANTHROPIC_APIKEY",
  "GITHUB_TOKEN",
  "npm_token",
  "DB_PASSWORD",
  "DB_PASSWD",
  "REDIS_PASS",
  "CLIENT_SECRET",
  "GOOGLE_CREDENTIALS",
  "GIT_CREDENTIAL",
  "SESSION_COOKIE",
  "PROXY_AUTH",
  "TOKEN",
  "SECRET",
  "SSH_AUTH_SOCK",
  "DOCKER_HOST",
  "KUBECONFIG",
];

const kLoader = [
  "LD_PRELOAD",
  "LD_LIBRARY_PATH",
  "LD_AUDIT",
  "NODE_OPTIONS",
  "BASH_ENV",
  "ENV",
  "PYTHONSTARTUP",
  "PERL5OPT",
  "RUBYOPT",
  "GIT_SSH_COMMAND",
  "GIT_EXTERNAL_DIFF",
  "GIT_PAGER",
  "GIT_CONFIG_COUNT",
];

const kHarmless = [
  "GIT_AUTHOR_NAME",
  "GIT_COMMITTER_EMAIL",
  "KEYBOARD",
  "MONKEY",
  "AUTHOR",
  "PASSAGE",
  "COMPASS",
  "TOKENIZERS_PARALLELISM",
  "LANG_TEST",
  "EDITOR_TEST",
  "lower_case",
];

const kValue = "a value";
const kUrls = {
  DATABASE_LOCATION: "postgres://user:password@host/db",
  MIRROR: "see https://name:pw@example.org/x for more",
};
const kPlainUrls = { HOMEPAGE: "https://example.org/a:b@c", REGISTRY: "https://user@example.org/" };

const set: string[] = [];
function setOnHost(variables: Record<string, string>): void {
  for (const [name, value] of Object.entries(variables)) {
    if (process.env[name] !== undefined) continue; // the host's own, such as a sanitizer's LD_PRELOAD
    process.env[name] = value;
    set.push(name);
  }
}
afterEach(() => {
  for (const name of set.splice(0)) delete process.env[name];
});

const named = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, name.startsWith("LD_") ? "" : kValue]));

async function environmentOf(runner: NativeRunner, env?: Record<string, string>) {
  const seen = await run(runner, ["env", "-0"], env === undefined ? {} : { env });
  const pairs = seen.out.split("\0").filter((line) => line !== "");
  return new Map(
    pairs.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}

for (const [label, makeRunner] of kRunners) {
  describeSandboxed(`the environment, ${label}`, () => {
    test("scrub: secrets and loader variables stay on the host", async () => {
      setOnHost({ ...named([...kSecret, ...kLoader, ...kHarmless]), ...kUrls, ...kPlainUrls });
      const got = await environmentOf(makeRunner("scrub"));
      expect(
        [...kSecret, ...kLoader, ...Object.keys(kUrls)].filter((name) => got.has(name)),
      ).toEqual([]);
      expect(kHarmless.filter((name) => got.get(name) !== kValue)).toEqual([]);
      expect(got.get("HOMEPAGE")).toBe(kPlainUrls.HOMEPAGE);
      expect(got.get("REGISTRY")).toBe(kPlainUrls.REGISTRY);
      const { PATH = "" } = process.env;
      if (label === "local") expect(got.get("PATH")).toBe(PATH);
      const inside = got.get("PATH")?.split(":") ?? []; // of the host's entries those that are there
      expect(inside).toContain("/usr/bin");
      expect(inside.filter((entry) => !PATH.split(":").includes(entry))).toEqual([]);
    });

    test("inherit: all come along", async () => {
      setOnHost({ ...named([...kSecret, ...kHarmless]), ...kUrls, GIT_PAGER: "less" });
      const got = await environmentOf(makeRunner("inherit"));
      for (const name of [...kSecret, ...kHarmless, ...Object.keys(kUrls), "GIT_PAGER"]) {
        expect([name, got.get(name)]).toEqual([name, process.env[name]]);
      }
    });

    test("clean: none does", async () => {
      setOnHost(named(kHarmless));
      const got = await environmentOf(makeRunner("clean"), { ONLY: "this" });
      const own = label === "local" ? [] : ["HOME", "PWD"];
      expect([...got.keys()].sort()).toEqual([...own, "ONLY", "PATH"].sort());
    });

    test("a list: these do", async () => {
      setOnHost(named(["MONKEY", "KEYBOARD", "GITHUB_TOKEN"]));
      const got = await environmentOf(makeRunner(["GITHUB_TOKEN", "MONKEY", "NOT_THERE"]));
      expect(got.get("GITHUB_TOKEN")).toBe(process.env.GITHUB_TOKEN);
      expect(got.get("MONKEY")).toBe(kValue);
      expect(got.has("KEYBOARD") || got.has("NOT_THERE")).toBe(false);
    });

    test.each<Policy>(["scrub", "inherit", "clean", []])(
      "%j: what `env` names is passed",
      async (policy) => {
        setOnHost({ GITHUB_TOKEN: "the host's", MONKEY: "the host's" });
        const env = {
          GITHUB_TOKEN: "given",
          MONKEY: "",
          GIT_PAGER: "given",
          API_KEY: "given",
          PWD: "/given",
        };
        const got = await environmentOf(makeRunner(policy), env);
        for (const [name, value] of Object.entries(env)) {
          expect([name, got.get(name)]).toEqual([name, value]);
        }
      },
    );

    test("is the host's at the time of the call", async () => {
      const runner = makeRunner("scrub");
      setOnHost({ LATER: "set" });
      const running = environmentOf(runner);
      process.env.LATER = "changed";
      expect((await running).get("LATER")).toBe("set");
      delete process.env.LATER;
      expect((await environmentOf(runner)).has("LATER")).toBe(false);
    });

    test("is that of an object that somebody has put in its place", async () => {
      const before = process.env;
      try {
        setOnHost({ MONKEY: "in the first" });
        const values = { ...before, KEYBOARD: "in another", LEFT_OUT: undefined, NUMBER: 7 };
        process.env = values as unknown as NodeJS.ProcessEnv;
        delete process.env.MONKEY;
        const got = await environmentOf(makeRunner("scrub"));
        expect(got.get("KEYBOARD")).toBe("in another");
        expect(got.get("NUMBER")).toBe("7");
        expect(got.has("MONKEY") || got.has("LEFT_OUT")).toBe(false);
      } finally {
        process.env = before;
      }
      expect((await environmentOf(makeRunner("scrub"))).get("MONKEY")).toBe("in the first");
    });

    test("a value of 100 KiB", async () => {
      const BIG = "v".repeat(100 * 1024);
      expect((await environmentOf(makeRunner("clean"), { BIG })).get("BIG")).toBe(BIG);
    });
  });
}

test("an object that was put in the place of process.env before the package came counts too", () => {
  const script = `
    process.env = { ...process.env, MONKEY: "put in" };
    delete process.env.KEYBOARD;
    const { LocalNativeRunner } = await import(process.argv[1]);
    const runner = new LocalNativeRunner({ shadowDir: "/tmp", envPolicy: ["MONKEY", "KEYBOARD", "TOWEL"] });
    const { stdout } = await runner.exec({ argv: ["sh", "-c", 'echo "$MONKEY, $KEYBOARD, $TOWEL"'] });
    process.stdout.write(stdout);`;
  const dist = join(import.meta.dirname, "../../../dist/index.js");
  const { stdout } = spawnSync(kNodeProgram, ["--input-type=module", "-e", script, dist], {
    encoding: "utf8",
    env: { ...process.env, KEYBOARD: "taken out", TOWEL: "stays" },
  });
  expect(stdout).toBe("put in, , stays\n");
});
