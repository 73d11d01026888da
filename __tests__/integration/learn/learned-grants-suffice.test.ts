/** What learning grants real jobs is enough for them, and for nothing else. */

import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

import { parseConfigText } from "../../../lib/runtime/parse-config.js";
import { type CommandEnd, makeWorld, type World } from "../network/made-up-internet.js";
import { fillWorld } from "../network/made-up-internet-files.js";
import { whyNoOwnNetwork } from "../network/own-network.js";
import { describePromises } from "../promises/promise-table.js";
import { kCli } from "../support/built-cli.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeUnless, whyNoBubblewrap } from "../support/requirements.js";
import type { RunnerChoice } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { type Job, makeJobs } from "./real-jobs.js";

const kStart = { network: { allow: [], allowPrivate: ["127.0.0.0/8"] } };

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "learning a job", () => {
  const ends = new Map<string, CommandEnd[]>();
  const places = new Map<string, string>();
  let jobs: Job[];
  let world: World;

  beforeAll(async () => {
    world = makeWorld();
    fillWorld(world, true);
    const trust = tempDirectory("trust", "/var/tmp");
    copyFileSync(join(world.workspace, "ca.pem"), join(trust, "ca.crt"));
    jobs = makeJobs(join(trust, "ca.crt"));
    const commands = jobs.flatMap((job) => {
      const place = tempDirectory("policy", "/var/tmp");
      places.set(job.name, place);
      const [start, policy] = [join(place, "start.json"), join(place, "policy.json")];
      writeFileSync(start, JSON.stringify(kStart));
      const env = Object.entries(job.env).flatMap((pair) => ["--env", pair.join("=")]);
      const of = (command: string, ...options: string[]) => ({
        argv: [...kCli, command, "-w", job.workspace, ...env, ...options, "--", ...job.argv],
        cwd: place,
        env: {},
      });
      const state = ["--state-directory", join(place, "state")];
      return [
        of("run", "--config", start),
        of("learn", "--config", start, "--into", policy, ...state),
        of("run", "--config", policy),
      ];
    });
    const done = await world.command(commands);
    for (const [at, { name }] of jobs.entries()) ends.set(name, done.slice(at * 3, at * 3 + 3));
  }, 300_000);

  const names = makeJobs("").map(({ name }) => name);
  test.each(names)("%s passes under what was learned", (name) => {
    const [before, learned, after] = ends.get(name) as CommandEnd[];
    const said = `${learned?.err}\n${after?.err}`;
    expect(before?.code, "it needs nothing").not.toBe(0);
    expect(learned?.code, said).toBe(0);
    expect(after?.code, said).toBe(0);
  });

  /** A runner as the policy has it, but for what a probe's own policy says. */
  const learnedRunner = (name: string, options: RunnerChoice) => {
    const path = join(places.get(name) as string, "policy.json");
    const { network: learned, bubblewrap } = parseConfigText(readFileSync(path, "utf8"), path);
    const network = options.network === "allow" ? "allow" : learned; // which a control has
    return new BubblewrapNativeRunner({ ...options, network, mounts: bubblewrap.mounts });
  };

  // Each probe gets through where nothing keeps it from that: see promises/promise.ts.
  for (const name of names) {
    describe(`under what was learned of ${name}, no probe gets further`, () => {
      const make = (options: RunnerChoice) => learnedRunner(name, options);
      // What is mounted at its own path in /var/tmp shows that there is a /var.
      describePromises("bubblewrap", make, (_, body) => body(), [], undefined, ["sees /var"]);
    });
  }

  test("a round leaves nothing of what it wrote", () => {
    const server = jobs.find(({ name }) => name.includes("Node server")) as Job;
    const state = /"(\/[^"]*native-runner-state-[^"]*)", "mode": "rw"/.exec(
      readFileSync(join(places.get(server.name) as string, "policy.json"), "utf8"),
    )?.[1];
    // It was run with the mount while it was learned, and once for good.
    expect(readFileSync(join(state as string, "log"), "utf8")).toBe("asked\n");
  });
});
