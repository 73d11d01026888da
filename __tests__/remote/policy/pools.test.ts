/** Pools of a tenant: in the others its runs are refused, with an error that names both. */

import { expect, test } from "vitest";

import { parseWorkerPolicy } from "../../../lib/remote/policy/worker-policy.js";
import { Workspaces } from "../../../lib/remote/policy/workspace-place.js";
import { PolicyPlaces } from "../../../lib/remote/worker/policy-places.js";

const policy = parseWorkerPolicy({
  pools: ["build", "gpu"],
  tenants: { ci: { pools: ["build"] }, guest: { pools: [] } },
});

async function reasonOf(tenant: string, pool: string): Promise<string> {
  const places = new PolicyPlaces(policy, new Workspaces("/nowhere"), {
    slots: 1,
    name: "w",
    pool,
  });
  const found = places.find(tenant, {}, "/nowhere/x", () => {
    throw new Error("asked for a workspace");
  });
  return found.then(
    () => "found",
    (error: Error) => error.message,
  );
}

test.each([
  ["ci", "gpu", /`pool`.*"ci".*\(build\), got "gpu"/],
  ["guest", "build", /`pool`.*"guest".*\(no pool\), got "build"/],
  ["other", "third", /`pool`.*"other".*\(build, gpu\), got "third"/],
])("the tenant %s is refused in the pool %s", async (tenant, pool, message) => {
  expect(await reasonOf(tenant, pool)).toMatch(message);
});

test.each([
  ["ci", "build"],
  ["other", "gpu"],
])("the tenant %s is not refused for the pool %s", async (tenant, pool) => {
  expect(await reasonOf(tenant, pool)).not.toContain("`pool`");
});
