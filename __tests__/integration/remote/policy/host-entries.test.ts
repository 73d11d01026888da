/** The worker's reading of hosts against the addon's: what the policy lets through has to mean the same to both. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { Refusal } from "../../../../lib/remote/policy/checked.js";
import { networkOf } from "../../../../lib/remote/policy/narrow-network.js";
import { BubblewrapNativeRunner, type NetworkByDomain } from "../../support/package.js";
import { describeSandboxed } from "../../support/requirements.js";
import { tempDirectory } from "../../support/temp.js";

const shadowDir = tempDirectory();

/** Equal for rules that decide alike; undefined where the addon refuses them. */
async function hashOf(network: NetworkByDomain): Promise<string | undefined> {
  try {
    const runner = new BubblewrapNativeRunner({ shadowDir, network });
    return (await runner.explain({ argv: ["true"] })).policyHash;
  } catch {
    return undefined;
  }
}

const piece = fc.oneof(
  fc.constantFrom(
    "a",
    "B",
    "test",
    "xn--bcher-kva",
    "xn--",
    "bücher",
    "ẞ",
    "1",
    "0x1",
    "10",
    "-",
    "_",
    "*",
    "*.",
    ".",
    ":",
    ":80",
    ":0",
    ":443",
    "[",
    "/",
    "::1",
    "::ffff:10.0.0.0",
    "10.0.0.0/8",
    "fd00::/8",
    "127.1",
    "%eth0",
    " ",
    "\n",
    "。",
  ),
  fc.string({ maxLength: 3 }),
);
const entry = fc.array(piece, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));

const kAddresses = ["127.0.0.1", "127.9.0.255", "127.1", "127.0.0.256", "127.00.0.1", "128.0.0.1"];
const address = fc.constantFrom(
  ...["", ...kAddresses, "[::1]", "::1", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0", "[::]"],
);
const kPorts = ["5432", "0", "1", "53", "3128", "65535", "65536", "05432", "5e3", "-1", "", "443 "];
const hostPort = fc.oneof(
  fc
    .tuple(address, fc.constantFrom("", ":"), fc.constantFrom(...kPorts))
    .map((all) => all.join("")),
  fc.integer({ min: -2, max: 70_000 }),
  entry,
);

describeSandboxed("an entry that the policy takes", () => {
  test("of `hostPorts` is the addon's, and no other is", async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(hostPort, async (one) => {
        const written: NetworkByDomain = { hostPorts: [one] };
        const read = networkOf(written as never);
        const native = await hashOf(written);
        expect(native === undefined).toBe(read instanceof Refusal);
        if (read instanceof Refusal) return;
        taken += 1;
        expect(await hashOf(read as NetworkByDomain)).toBe(native);
      }),
      { numRuns: 1000 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  test.each(["allow", "deny", "allowPrivate"] as const)(
    "of `%s` is the addon's, too",
    async (list) => {
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(entry, async (text) => {
          const written: NetworkByDomain = { allow: [], [list]: [text] };
          const read = networkOf(written as never);
          if (read instanceof Refusal || typeof read === "string") return;
          const native = await hashOf(written);
          if (native === undefined) return; // it refuses more, as punycode that is none: nothing is opened
          taken += 1;
          expect(await hashOf(read as NetworkByDomain)).toBe(native);
        }),
        { numRuns: 3000 },
      );
      expect(taken).toBeGreaterThan(100);
    },
  );
});
