/**
 * Whatever narrow() lets through is no wider than the ceiling, by a model of what a sandbox with these
 * options shows and reaches that shares no code with it.
 */

import fc from "fast-check";
import { expect, test } from "vitest";
import type {
  LimitCeiling,
  NarrowableOptions,
  RemoteNetwork,
} from "../../../lib/remote/policy/ceiling.js";
import { Refusal } from "../../../lib/remote/policy/checked.js";
import { narrow } from "../../../lib/remote/policy/narrow.js";
import { parseWorkerPolicy } from "../../../lib/remote/policy/worker-policy.js";
import type { NativeMount } from "../../../types/public.js";

const kPaths = ["/", "/usr", "/usr/bin", "/etc", "/etc/ssh", "/srv", "/srv/a", "/srv/a/b"];
const kGuests = [...kPaths.slice(1), "/workspace/x", "/workspace/x/y"];
const kHosts = ["a.test", "x.a.test", "y.x.a.test", "b.test", "x.b.test", "xa.test", "test"];
const kPorts = [22, 80, 443, 8443];
const kAddresses = ["10.0.0.1", "10.9.0.1", "192.168.0.1", "127.0.0.1"];
const kBlocks = [
  "10.0.0.0/8",
  "10.0.0.0/16",
  "10.0.0.1",
  "192.168.0.0/16",
  "0.0.0.0/0",
  "127.0.0.1",
];

const some = <Value>(values: readonly Value[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength: 4 });
const pattern = fc
  .tuple(
    fc.constantFrom("", "*."),
    fc.constantFrom(...kHosts),
    fc.constantFrom("", ":22", ":80", ":443", ":8443"),
  )
  .map((parts) => parts.join(""));
const hostAlone = pattern.map((text) => text.replace(/:.*/, ""));
const rules = fc.record(
  {
    allow: fc.array(pattern, { maxLength: 5 }),
    deny: fc.array(pattern, { maxLength: 2 }),
    allowPrivate: fc.array(fc.oneof(fc.constantFrom(...kBlocks), hostAlone), { maxLength: 3 }),
    hostPorts: some<number | string>([5432, "127.0.0.1:5432", "127.0.0.2:80", "[::1]:6379"]),
  },
  { requiredKeys: ["allow"] },
);
const network = fc.oneof(fc.constantFrom("allow" as const, "deny" as const), rules);
const mount = fc.record(
  {
    hostPath: fc.constantFrom(...kPaths),
    guestPath: fc.constantFrom(...kGuests),
    mode: fc.constantFrom("ro", "rw"),
  },
  { requiredKeys: ["hostPath", "guestPath", "mode"] },
);
const figure = fc.integer({ min: 1, max: 5 });
const kFigures = [
  "timeoutMs",
  "maxStdoutBytes",
  "memoryBytes",
  "cpuSeconds",
  "maxProcesses",
] as const;
const limits = fc.record(Object.fromEntries(kFigures.map((name) => [name, figure])), {
  requiredKeys: [],
});
const variables = ["PATH", "HOME", "LANG"];
const fieldsOf = {
  network,
  roBinds: some(kPaths),
  mounts: fc.array(mount, { maxLength: 4 }),
  envPolicy: fc.oneof(fc.constantFrom("scrub", "inherit", "clean"), some(variables)),
  isolation: fc.constantFrom("strict", "compat"),
  layers: fc.constantFrom([], ["landlock"]),
  required: some(["seccomp", "cgroup"]),
  allowWriteWorkspace: fc.boolean(),
  devBind: fc.boolean(),
  procBind: fc.boolean(),
  clone: fc.constantFrom("auto", "never"),
  prewarm: fc.integer({ min: 0, max: 8 }),
  prewarmIdleMs: fc.integer({ min: 1, max: 70_000 }),
  limits,
};
const policies = fc.record(fieldsOf, { requiredKeys: [] });

// What the rules of two networks let through, by the words of docs/network.md.

function matches(entry: string, host: string): boolean {
  const name = entry.replace(/:.*/, "");
  return name.startsWith("*.") ? host.endsWith(name.slice(1)) : host === name;
}
const hasPort = (entry: string, port: number, none: boolean) =>
  entry.includes(":") ? entry.endsWith(`:${port}`) : none;

function reaches(rules: RemoteNetwork, host: string, port: number): boolean {
  if (typeof rules === "string") return rules === "allow";
  const denied = rules.deny.some((entry) => matches(entry, host) && hasPort(entry, port, true));
  const usual = port === 80 || port === 443;
  return (
    !denied && rules.allow.some((entry) => matches(entry, host) && hasPort(entry, port, usual))
  );
}

function bits(address: string): string {
  return address
    .split(".")
    .map((part) => Number(part).toString(2).padStart(8, "0"))
    .join("");
}
function leadsTo(rules: RemoteNetwork, host: string, address: string): boolean {
  if (typeof rules === "string") return rules === "allow";
  return rules.allowPrivate.some((entry) => {
    if (!/^\d/.test(entry)) return matches(entry, host);
    const [base = "", length = "32"] = entry.split("/");
    return bits(address).startsWith(bits(base).slice(0, Number(length)));
  });
}

// What a command finds at a path: the last mount that covers it.

const covers = (above: string, path: string) => above === "/" || `${path}/`.startsWith(`${above}/`);
const kDefault = ["/usr", "/bin", "/lib", "/lib64", "/etc"];

function found(
  options: NarrowableOptions,
  path: string,
): { host: string; mode: string } | undefined {
  const isInside = ({ guestPath = "" }: NativeMount) => covers("/workspace", guestPath);
  const order = [
    ...(options.roBinds ?? kDefault).map((each) => ({ host: each, guest: each, mode: "ro" })),
    ...options.mounts.filter((each) => !isInside(each)).map(mountOf),
    { host: "the workspace", guest: "/workspace", mode: "rw" },
    ...options.mounts.filter(isInside).map(mountOf),
  ];
  const top = order.filter(({ guest }) => covers(guest, path)).at(-1);
  if (top === undefined) return undefined;
  return { host: `${top.host}${path.slice(top.guest.length)}`, mode: top.mode };
}
function mountOf({ hostPath, guestPath = hostPath, mode }: NativeMount) {
  return { host: hostPath, guest: guestPath, mode };
}

/** The runner refuses other ceilings: see NativeMount.guestPath. */
function isPossible(mounts: readonly NativeMount[]): boolean {
  return mounts.every((each, at) =>
    mounts.slice(0, at).every((earlier) => !covers(each.guestPath ?? "", earlier.guestPath ?? "")),
  );
}

const kWidth = { clean: 0, names: 1, scrub: 1, inherit: 2 };
function widthOf(policy: NarrowableOptions["envPolicy"]): number {
  if (typeof policy === "string") return kWidth[policy];
  return policy.length === 0 ? kWidth.clean : kWidth.names;
}

const hostPortsOf = ({ network }: NarrowableOptions): string[] =>
  typeof network === "object" ? [...(network.hostPorts ?? [])] : [];

function expectNoWider(wide: NarrowableOptions, got: NarrowableOptions): void {
  for (const host of kHosts) {
    for (const port of kPorts) {
      if (reaches(got.network, host, port)) expect(reaches(wide.network, host, port)).toBe(true);
    }
    for (const address of kAddresses) {
      if (leadsTo(got.network, host, address))
        expect(leadsTo(wide.network, host, address)).toBe(true);
    }
  }
  if (wide.network !== "allow") {
    expect(hostPortsOf(wide)).toEqual(expect.arrayContaining(hostPortsOf(got)));
  }
  for (const path of [...kPaths, ...kGuests, "/etc/ssh/key", "/bin"]) {
    const inside = found(got, path);
    if (inside === undefined) continue;
    const most = found(wide, path);
    expect(inside.host).toBe(most?.host);
    if (inside.mode === "rw") expect(most?.mode).toBe("rw");
  }
  expect(widthOf(got.envPolicy)).toBeLessThanOrEqual(widthOf(wide.envPolicy));
  if (typeof got.envPolicy !== "string" && wide.envPolicy !== "inherit") {
    const names = typeof wide.envPolicy === "string" ? [] : wide.envPolicy;
    expect(names).toEqual(expect.arrayContaining([...got.envPolicy]));
  }
  if (got.isolation === "compat") expect(wide.isolation).toBe("compat");
  expect(got.layers).toEqual(expect.arrayContaining([...wide.layers]));
  expect(got.required).toEqual(expect.arrayContaining([...wide.required]));
  for (const flag of ["allowWriteWorkspace", "devBind", "procBind"] as const) {
    if (got[flag]) expect(wide[flag]).toBe(true);
  }
  if (got.clone === "auto") expect(wide.clone).toBe("auto");
  expect(got.prewarm ?? 4).toBeLessThanOrEqual(wide.prewarm ?? 4);
  expect(got.prewarmIdleMs).toBeLessThanOrEqual(wide.prewarmIdleMs);
}

function expectNoMore(most: LimitCeiling, got: Record<string, unknown>): void {
  for (const name of kFigures) {
    if (most[name] !== undefined) expect(got[name]).toBeLessThanOrEqual(most[name]);
  }
}

/** Half of all asks begin with what the ceiling itself has, or few would be let through. */
const cases = fc
  .tuple(policies, policies, fc.boolean(), some(Object.keys(fieldsOf)))
  .map(([policy, asked, isNear, changed]) => {
    if (!isNear) return { policy, asked };
    const near = Object.entries(asked).filter(([name]) => changed.includes(name));
    return { policy, asked: { ...policy, ...Object.fromEntries(near) } };
  })
  .filter(({ policy }) => isPossible((policy.mounts ?? []) as NativeMount[]));

test("what is let through is no wider in any field, what is refused names one", () => {
  const seen = { narrowed: 0, refused: new Set<string>() };
  fc.assert(
    fc.property(cases, ({ policy, asked }) => {
      const { ceiling } = parseWorkerPolicy(policy);
      const answer = narrow(ceiling, asked);
      if (answer instanceof Refusal) {
        const [field = ""] = answer.field.split(/[.[]/);
        expect(Object.keys(asked)).toContain(field);
        seen.refused.add(field);
        return;
      }
      seen.narrowed += 1;
      expectNoWider(ceiling.options, answer.options);
      expectNoMore(ceiling.limits, answer.limits);
      // What was let through is let through again, under itself: a tenant's ceiling is one.
      const again = narrow({ ...ceiling, options: answer.options }, asked);
      expect(again).not.toBeInstanceOf(Refusal);
    }),
    { numRuns: 5000 },
  );
  // Else it has shown nothing.
  expect(seen.narrowed).toBeGreaterThan(500);
  const adding = ["layers", "required"];
  const names = Object.keys(fieldsOf).filter((name) => !adding.includes(name));
  expect([...seen.refused].sort()).toEqual(names.sort());
});

test("rules by domain are no wider, where nothing else is asked for", () => {
  let narrowed = 0;
  const one = fc.record({
    allow: fc.array(pattern, { maxLength: 1 }),
    allowPrivate: some(kBlocks),
  });
  fc.assert(
    fc.property(rules, fc.oneof(one, rules), (policy, asked) => {
      const { ceiling } = parseWorkerPolicy({ network: policy });
      const answer = narrow(ceiling, { network: asked });
      if (answer instanceof Refusal) return;
      narrowed += 1;
      expectNoWider(ceiling.options, answer.options);
    }),
    { numRuns: 5000 },
  );
  expect(narrowed).toBeGreaterThan(200);
});
