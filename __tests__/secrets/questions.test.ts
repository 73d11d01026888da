/** Questions about requests that no rule allows: how many at once, how long, and what ends them. */

import { expect, test } from "vitest";

import type { AskedRequest } from "../../lib/secrets/messages.js";
import { type SecretsPolicy, secretsPolicy } from "../../lib/secrets/policy.js";
import { SecretsOfRun } from "../../lib/secrets/runner-secrets.js";
import type { TerminatedRun, Terminator } from "../../lib/secrets/terminator.js";
import type { NetworkRequest } from "../../types/public.js";

const kRequest: AskedRequest = {
  ...{ host: "a.test", port: 443, via: "transparent", method: "POST", path: "/v2" },
};
const kMost = 32;

/** A run whose requests are asked about by `answer`. */
function asking(answer: (request: NetworkRequest) => unknown) {
  let begun: TerminatedRun | undefined;
  const terminator = {
    begin: (_: unknown, run: TerminatedRun) => {
      begun = run;
    },
    flush: async () => {},
  };
  const policy = secretsPolicy({ http: [{ host: "a.test", paths: ["/v1/*"] }] }) as SecretsPolicy;
  const run = new SecretsOfRun(terminator as unknown as Terminator, 1, policy, answer as never);
  return { run, ask: () => begun?.mayRequest?.(kRequest) };
}

test.each<[string, (request: NetworkRequest) => unknown, boolean]>([
  ["allow", () => "allow", true],
  ["deny", async () => "deny", false],
  ["another value", () => true, false],
  ["a throw", () => Promise.reject(new Error("no")), false],
])("the answer %s", async (_, answer, isAllowed) => {
  expect(await asking(answer).ask()).toBe(isAllowed);
});

test("at most 32 of a run wait; more are denied, and the run's end denies the rest", async () => {
  const signals: AbortSignal[] = [];
  const { run, ask } = asking(({ signal }) => {
    signals.push(signal);
    return new Promise(() => {});
  });
  const open = Array.from({ length: kMost }, ask);
  expect(await ask()).toBe(false);
  expect(signals).toHaveLength(kMost);
  run.close();
  expect(await Promise.all(open)).toEqual(Array(kMost).fill(false));
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
});
