/** What `network` may be, and what it is refused with; no sandbox is made. */

import { describe, expect, test } from "vitest";

import {
  BubblewrapNativeRunner,
  type BubblewrapNetwork,
  Bwrap,
  buildBubblewrapArgv,
  createBubblewrapProcessSandbox,
  FirejailNativeRunner,
  LandlockNativeRunner,
  LocalNativeRunner,
} from "../support/package.js";
import { tempDirectory } from "../support/temp.js";

const kType = "ERR_INVALID_ARG_TYPE";
const kValue = "ERR_INVALID_ARG_VALUE";
const kRange = "ERR_OUT_OF_RANGE";

const folder = tempDirectory("network-values");

const makers: Record<string, (network: unknown) => unknown> = {
  BubblewrapNativeRunner: (network) =>
    new BubblewrapNativeRunner({ shadowDir: folder, network: network as BubblewrapNetwork }),
  Bwrap: (network) => new Bwrap(folder, [], false, { network: network as BubblewrapNetwork }),
};

const many = (count: number) => Array.from({ length: count }, (_, at) => `h${at}.test`);
const ports = (count: number) => Array.from({ length: count }, (_, at) => `a.test:${at + 1000}`);

const wrong: [name: string, network: unknown, field: string, code: string][] = [
  ["another word", "Allow", "network", kValue],
  ["a number", 1, "network", kValue],
  ["null", null, "network", kValue],
  ["true", true, "network", kValue],
  ["a list", ["a.test"], "network", kValue],
  ["a function", () => "allow", "network", kValue],
  ["nothing allowed, and not said", {}, "network.allow", kType],
  ["deny alone", { deny: ["a.test"] }, "network.allow", kType],
  ...["allow", "deny", "allowPrivate"].flatMap((list): typeof wrong => {
    const field = `network.${list}`;
    const network = (value: unknown) => ({ allow: [], [list]: value });
    return [
      [`${list}: a string`, network("a.test"), field, kType],
      [`${list}: null`, network(null), field, kType],
      [`${list}: an object`, network({ 0: "a.test" }), field, kType],
      [`${list}: a number in it`, network(["a.test", 7]), `${field}[1]`, kType],
      [`${list}: null in it`, network([null]), `${field}[0]`, kType],
      [`${list}: an empty name`, network(["a.test", ""]), `${field}[1]`, kValue],
      [`${list}: a scheme`, network(["https://a.test"]), `${field}[0]`, kValue],
      [`${list}: a path`, network(["a.test/x"]), `${field}[0]`, kValue],
      [`${list}: a user`, network(["me@a.test"]), `${field}[0]`, kValue],
      [`${list}: a blank`, network(["a.test "]), `${field}[0]`, kValue],
      [`${list}: NUL`, network(["a.test\0.b.test"]), `${field}[0]`, kValue],
      [`${list}: NUL in an international name`, network(["bü\0.test"]), `${field}[0]`, kValue],
      [`${list}: percent`, network(["a%2etest"]), `${field}[0]`, kValue],
      [`${list}: percent in an international name`, network(["bü%2etest"]), `${field}[0]`, kValue],
      [`${list}: a star inside`, network(["a.*.test"]), `${field}[0]`, kValue],
      [`${list}: a star alone`, network(["*"]), `${field}[0]`, kValue],
      [`${list}: a decimal address`, network(["2130706433"]), `${field}[0]`, kValue],
      [`${list}: an octal address`, network(["0177.0.0.1"]), `${field}[0]`, kValue],
      [`${list}: a hexadecimal address`, network(["0x7f.1"]), `${field}[0]`, kValue],
      [`${list}: other digits`, network(["１３４７４４０７２"]), `${field}[0]`, kValue],
      [`${list}: too many`, network(many(1025)), field, kRange],
    ];
  }),
  ["an address", { allow: ["127.0.0.1"] }, "network.allow[0]", kValue],
  ["an address in other digits", { allow: ["１２７.0.0.1"] }, "network.allow[0]", kValue],
  ["an IPv6 address", { allow: ["a.test", "[::1]:443"] }, "network.allow[1]", kValue],
  ["port 0", { allow: ["a.test:0"] }, "network.allow[0]", kValue],
  ["a port that is none", { allow: ["a.test:65536"] }, "network.allow[0]", kValue],
  ["a service", { allow: ["a.test:https"] }, "network.allow[0]", kValue],
  ["too many ports", { allow: ports(65) }, "network.allow", kRange],
  [
    "a port of a private host",
    { allow: [], allowPrivate: ["a.test:80"] },
    "network.allowPrivate[0]",
    kValue,
  ],
  ["hostPorts: a number", { hostPorts: 5432 }, "network.hostPorts", kType],
  ["hostPorts: a text", { hostPorts: "5432" }, "network.hostPorts", kType],
  ["hostPorts: null", { hostPorts: null }, "network.hostPorts", kType],
  ["hostPorts: true in it", { hostPorts: [5432, true] }, "network.hostPorts[1]", kType],
  ...[0, -1, 1.5, 65_536, Number.NaN, Number.POSITIVE_INFINITY, "", "localhost:5432"]
    .concat(["0.0.0.0:5432", "127.0.0.1.nip.io:5432", "[::ffff:127.0.0.1]:5432", "5432\0"])
    .concat([53, 3128, "[::1]:53"])
    .map((entry): (typeof wrong)[number] => [
      `hostPorts: ${entry}`,
      { hostPorts: [5432, entry] },
      "network.hostPorts[1]",
      kValue,
    ]),
  ["two addresses of a port", { hostPorts: [80, "[::1]:80"] }, "network.hostPorts", kValue],
  [
    "too many ports with hostPorts",
    { allow: ports(64), hostPorts: [5432] },
    "network.hostPorts",
    kRange,
  ],
  ["hostPorts: too many", { hostPorts: many(1025) }, "network.hostPorts", kRange],
  ["presets that are no list", { presets: "npm" }, "network.presets", kType],
  ["a preset that there is not", { presets: ["npm", "pip"] }, "network.presets[1]", kValue],
  ["onRequest that is none", { allow: [], onRequest: "deny" }, "network.onRequest", kType],
  ["an unknown field", { allow: [], allowed: [] }, "allowed", kValue],
];

const right: [name: string, network: unknown][] = [
  ["nothing", { allow: [] }],
  ["names, ports and wildcards", { allow: ["a.test", "A.TEST.:8443", "*.b.test", "*.c.test:22"] }],
  [
    "international names",
    { allow: ["bücher.test", "*.straße.test:443"], deny: ["evil.bücher.test"] },
  ],
  [
    "what is private",
    { allow: ["a.test"], allowPrivate: ["a.test", "10.0.0.0/8", "127.0.0.1", "::1"] },
  ],
  ["presets", { presets: ["npm", "pypi", "github", "debian", "crates", "go"] }],
  [
    "ports of the host",
    { hostPorts: [5432, "127.0.0.1:5432", "[::1]:6379", "127.9.0.1:80", "81"] },
  ],
  ["no ports of the host", { hostPorts: [] }],
  ["64 ports of the host", { hostPorts: Array.from({ length: 64 }, (_, at) => at + 1000) }],
  ["somebody to ask", { onRequest: () => "deny" }],
  ["as many as there may be", { allow: many(1024), deny: many(1024) }],
  ["64 ports", { allow: ports(64) }],
];

describe.each(Object.entries(makers))("%s", (_, make) => {
  test.each(wrong)("refuses %s", (_name, network, field, code) => {
    let thrown: unknown;
    try {
      make(network);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code });
    expect((thrown as Error).message).toContain(
      code === kValue && field === "allowed" ? `"${field}"` : `\`${field}\``,
    );
  });

  test.each(right)("takes %s", (_name, network) => {
    expect(() => make(network)).not.toThrow();
  });
});

const rules = { allow: ["a.test"] } as never;
const message =
  /`network` to be "allow" or "deny" \(by domain it is with BubblewrapNativeRunner and Bwrap only\)/;

test.each<[string, (network: never) => unknown]>([
  ["Landlock", (network) => new LandlockNativeRunner({ shadowDir: folder, network })],
  ["Firejail", (network) => new FirejailNativeRunner({ shadowDir: folder, network })],
  ["a process sandbox", (network) => createBubblewrapProcessSandbox({ network })],
  [
    "an argv",
    (network) =>
      buildBubblewrapArgv({
        bwrapPath: "bwrap",
        shadowDir: folder,
        commandArgv: ["true"],
        network,
      }),
  ],
])("%s refuses rules, and takes the modes", (_, make) => {
  expect(() => make(rules)).toThrow(message);
  expect(() => make("deny" as never)).not.toThrow();
});

test("the local runner has no network to speak of", () => {
  const options = { shadowDir: folder, network: rules };
  expect(() => new LocalNativeRunner(options)).toThrow('Unknown field "network"');
});

test("isolation compat is refused with rules", () => {
  const make = (isolation: "compat" | "strict") =>
    new BubblewrapNativeRunner({ shadowDir: folder, network: rules, isolation });
  expect(() => make("compat")).toThrow(
    'Expected `isolation` to be "strict" with a `network` by domain',
  );
  expect(() => make("strict")).not.toThrow();
});

test("a Bwrap has one network", () => {
  expect(() => new Bwrap(folder, [], true, { network: rules })).toThrow("`allowNetwork`");
  expect(new Bwrap(folder, [], true, { network: "allow" }).allowNetwork).toBe(true);
  expect(new Bwrap(folder, [], false, { network: "allow" }).allowNetwork).toBe(true);
  expect(new Bwrap(folder, [], false, { network: rules }).allowNetwork).toBe(false);
});

test("a runner shows what it was given, and can't be changed by it", () => {
  const allow = ["a.test"];
  const runner = new BubblewrapNativeRunner({
    shadowDir: folder,
    network: { allow, presets: ["go"] },
  });
  allow.push("evil.test");
  expect(runner.network).toEqual({ allow: ["a.test"], presets: ["go"] });
});
