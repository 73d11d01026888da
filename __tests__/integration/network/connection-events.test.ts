/** The channel of connections: what it tells of each kind of run, and how much of a flood. */

import { expect, test } from "vitest";

import type { NetworkConnection } from "../support/package.js";
import {
  describeUnless,
  testUnless,
  whyNoBindFd,
  whyNoBubblewrap,
} from "../support/requirements.js";
import { scenario } from "./host-scenario.js";
import { whyNoOwnNetwork } from "./own-network.js";

type Heard = {
  run: number;
  event: string;
  connection?: NetworkConnection;
  audit?: { connections: NetworkConnection[] };
};

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "the channel of connections", () => {
  testUnless(
    whyNoBindFd,
    "each kind of run tells of its own, once, before its end, as the audit has it",
    async () => {
      const kinds = await scenario<Record<string, Heard[]>>("eventsOfKinds");
      const runs = { cold: 1, prewarmed: 1, live: 1, transaction: 1, batch: 2, session: 2 };
      const ends = (heard: Heard[]) => heard.filter(({ event }) => event === "run.end");
      const count = Object.entries(kinds).map(([name, heard]) => [name, ends(heard).length]);
      expect(Object.fromEntries(count)).toEqual(runs);
      for (const [name, heard] of Object.entries(kinds)) {
        for (const { run, audit } of ends(heard)) {
          const [allowed, denied] = audit?.connections ?? [];
          const [opened, ...later] = heard.filter((each) => each.run === run);
          const end = later.pop();
          // A connection's end and the next question are seen in either order.
          const own = [opened, ...later.sort((a, b) => a.event.localeCompare(b.event)), end];
          expect({ name, own }).toEqual({
            name,
            own: [
              {
                run,
                event: "opened",
                connection: { ...allowed, bytesOut: 0, bytesIn: 0, durationMs: expect.any(Number) },
              },
              { run, event: "ended", connection: allowed },
              { run, event: "refused", connection: { ...denied, count: 1 } },
              { run, event: "run.end", audit: { ...audit } },
            ],
          });
          expect(allowed).toMatchObject({ host: "a.test", bytesOut: 7, bytesIn: 13 });
          expect(denied).toMatchObject({ host: "c.test", verdict: "denied" });
        }
      }
    },
    120_000,
  );

  test("a flood of refused questions makes no more events than entries", async () => {
    const common = { answered: 20_000, isRefused: true };
    expect(await scenario("eventsOfFlood")).toEqual({
      1: { ...common, events: 1, listed: 1, counted: 20_000, omitted: 0 },
      20000: { ...common, events: 10_000, listed: 10_000, counted: 10_000, omitted: 10_000 },
    });
  }, 300_000);
});

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "a flood of heads of 65 kB", () => {
  test("keeps no other run from its answers", async () => {
    const { flood, ...other } = await scenario<Record<string, unknown>>("floodOfHeads");
    expect(other).toEqual({ exitCode: 0, answered: 50 });
    expect(flood, "it went on").toContainEqual(expect.stringMatching(/HTTP\/1\.1 4\d\d /));
  });
});
