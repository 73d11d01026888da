/** What learning grants real jobs is enough for them, and for nothing else. */

import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

import { makeWorld, type CommandEnd, type World } from "../network/world.js";
import { fillWorld } from "../network/world-files.js";
import { whyNoOwnNetwork } from "../network/own-network.js";
import { kCli } from "../support/command.js";
import { describeUnless, whyNoBubblewrap } from "../support/gate.js";
import { tempDirectory } from "../support/temp.js";
import { type Job, makeJobs } from "./jobs.js";

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

  test.each(makeJobs("").map(({ name }) => name))("%s passes under what was learned", (name) => {
    const [before, learned, after] = ends.get(name) as CommandEnd[];
    const said = `${learned?.err}\n${after?.err}`;
    process.stderr.write(`@@ ${name} ${before?.code} ${learned?.code} ${after?.code}\n${before?.err}\n==\n${said}\n`);
    try { process.stderr.write(readFileSync(join(places.get(name)!, "policy.json"))); } catch {}
    expect(before?.code, "it needs nothing").not.toBe(0);
    expect(learned?.code, said).toBe(0);
    expect(after?.code, said).toBe(0);
  });
});
