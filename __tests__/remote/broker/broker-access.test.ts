/** Which ways to a broker there may be, and what messages don't tell. */

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inspect } from "node:util";
import * as nats from "@nats-io/transport-node";
import { afterAll, describe, expect, test } from "vitest";

import { BrokerAccess, type BrokerOptions } from "../../../lib/remote/broker/broker-access.js";

const kSecret = "hunter2-and-more";
const kUser = { user: "a", password: kSecret };
const kPem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const secure = (more: object = {}) =>
  ({ servers: ["tls://broker.test:4222"], credentials: kUser, ...more }) as BrokerOptions;
const insecure = (...servers: string[]) => ({ servers, insecure: true });

const directory = mkdtempSync(path.join(tmpdir(), "broker-access-"));
afterAll(() => rmSync(directory, { recursive: true }));
function written(text: string): string {
  const file = path.join(directory, "credentials");
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

describe("is let through", () => {
  test.each<[string, BrokerOptions]>([
    ["TLS by URL", secure()],
    ["TLS by option", secure({ servers: ["nats://broker.test"], tls: {} })],
    ["TLS on this machine", secure({ servers: ["tls://localhost:4222"] })],
    ["several servers", secure({ servers: ["tls://a.test", "tls://b.test:1/"] })],
    ["a token", secure({ credentials: { token: kSecret } })],
    ["an authority and a certificate", secure({ tls: { ca: kPem, cert: kPem, key: kPem } })],
    [
      "loopback",
      insecure("nats://127.0.0.1:4222", "nats://127.9.9.9", "nats://[::1]:1", "nats://LOCALHOST"),
    ],
    ["loopback with credentials", { ...insecure("nats://127.0.0.1"), credentials: kUser }],
    ["fields of others", secure({ pool: "build" })],
  ])("%s", (_, options) => {
    expect(new BrokerAccess(options).servers).toHaveLength(options.servers.length);
  });
});

const kSeed = `SU${"A".repeat(56)}`;

describe("is refused", () => {
  test.each<[string, object, string]>([
    ["no servers", secure({ servers: [] }), "Expected `servers` to have 1 to 64 URLs, got 0"],
    ["one text", secure({ servers: "tls://a.test" }), "Expected `servers` to be an array"],
    ["no text", secure({ servers: [1] }), "Expected `servers[0]` to be a string, got 1"],
    ["no scheme", secure({ servers: ["broker.test:4222"] }), "Expected `servers[0]` to be a URL"],
    [
      "another scheme",
      secure({ servers: ["tls://a.test", "ws://a.test"] }),
      "Expected `servers[1]` to be a URL",
    ],
    ["a path", secure({ servers: ["tls://a.test/x"] }), "Expected `servers[0]` to be a URL"],
    ["a query", secure({ servers: ["tls://a.test?x"] }), "Expected `servers[0]` to be a URL"],
    ["no host", secure({ servers: ["tls://"] }), "Expected `servers[0]` to be a URL"],
    [
      "credentials in the URL",
      secure({ servers: [`tls://a:${kSecret}@a.test`] }),
      "to have no credentials in it",
    ],
    [
      "no TLS",
      secure({ servers: ["nats://broker.test"] }),
      'Expected `servers[0]` to be reached by TLS ("tls://…", or `tls`), got',
    ],
    [
      "no TLS on this machine",
      secure({ servers: ["nats://127.0.0.1"] }),
      "or `insecure: true` for this machine",
    ],
    [
      "no TLS for one of two",
      secure({ servers: ["tls://a.test", "nats://b.test"] }),
      "Expected `servers[1]` to be reached by TLS",
    ],
    [
      "TLS to an address",
      secure({ servers: ["tls://10.0.0.1"] }),
      "Expected `servers[0]` to have a name",
    ],
    [
      "TLS to an IPv6 address",
      secure({ servers: ["tls://[fd00::1]:4222"] }),
      "Expected `servers[0]` to have a name",
    ],
    [
      "no credentials",
      secure({ credentials: undefined }),
      "Expected `credentials` to be { user, password }",
    ],
    ["empty credentials", secure({ credentials: {} }), "got none of them"],
    ["half of them", secure({ credentials: { user: "a" } }), "got user"],
    [
      "two of them",
      secure({ credentials: { ...kUser, token: kSecret } }),
      "got user, password, token",
    ],
    [
      "unknown ones",
      secure({ credentials: { user: "a", pasword: kSecret } }),
      "did you mean `password`?",
    ],
    [
      "an empty password",
      secure({ credentials: { user: "a", password: "" } }),
      "Expected `credentials.password`",
    ],
    [
      "a password that is none",
      secure({ credentials: { user: "a", password: 123456 } }),
      "Expected `credentials.password`",
    ],
    [
      "a seed of an account",
      secure({ credentials: { nkeySeed: `SA${"A".repeat(56)}` } }),
      "the seed of a user's nkey",
    ],
    [
      "a path as certificate",
      secure({ tls: { ca: "/etc/ca.pem" } }),
      "Expected `tls.ca` to be PEM text",
    ],
    [
      "a certificate alone",
      secure({ tls: { cert: kPem } }),
      "`tls.cert` and `tls.key` to be given together",
    ],
    [
      "unknown fields of TLS",
      secure({ tls: { rejectUnauthorized: false } }),
      'Unknown field "rejectUnauthorized"',
    ],
    [
      "insecure elsewhere",
      insecure("nats://127.0.0.1", "nats://10.0.0.1"),
      '`servers[1]` "nats://10.0.0.1"',
    ],
    [
      "insecure by a name",
      insecure("nats://localhost.test"),
      "is for servers of this machine alone",
    ],
    [
      "insecure on every address",
      insecure("nats://0.0.0.0"),
      "is for servers of this machine alone",
    ],
    ["insecure and TLS", insecure("tls://127.0.0.1"), "Expected `insecure` to be left out"],
    [
      "insecure and certificates",
      { ...insecure("nats://127.0.0.1"), tls: {} },
      "Expected `insecure` to be left out",
    ],
    ["insecure by a text", { ...secure(), insecure: "no" }, "Expected `insecure` to be a boolean"],
  ])("%s", (_, options, message) => {
    let said = "";
    try {
      new BrokerAccess(options as BrokerOptions);
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError);
      said = String(error);
    }
    expect(said).toContain(message);
    expect(said).not.toContain(kSecret);
    expect(said).not.toContain("123456");
  });
});

test("prints no secret", () => {
  const access = new BrokerAccess(secure());
  expect(inspect(access, { depth: 9, showHidden: true }) + JSON.stringify(access)).not.toContain(
    kSecret,
  );
});

describe("what the client is given", () => {
  const optionsOf = (options: BrokerOptions) => new BrokerAccess(options).connectionOptions(nats);
  const authOf = async (credentials: BrokerOptions["credentials"]) => {
    const { authenticator } = await optionsOf(secure({ credentials }));
    return (authenticator as (nonce?: string) => unknown)("nonce");
  };
  const pair = nats.nkeys.createUser();
  const seed = new TextDecoder().decode(pair.getSeed());

  test("is that there has to be TLS, or that there is none", async () => {
    expect(await optionsOf(secure())).toMatchObject({
      servers: ["tls://broker.test:4222"],
      tls: {},
    });
    expect((await optionsOf(secure({ tls: { ca: kPem } }))).tls).toEqual({ ca: kPem });
    expect(await optionsOf(insecure("nats://127.0.0.1"))).toEqual({
      servers: ["nats://127.0.0.1"],
      tls: null,
      ignoreClusterUpdates: true,
    });
  });

  test("is who it is", async () => {
    expect(await authOf(kUser)).toEqual({ user: "a", pass: kSecret });
    expect(await authOf({ token: kSecret })).toEqual({ auth_token: kSecret });
    const key = { nkey: pair.getPublicKey(), sig: expect.stringMatching(/^[\w+/=-]{80,}$/) };
    expect(await authOf({ nkeySeed: seed })).toEqual(key);
    expect(await authOf({ file: written(`# of tenant a\n\n  ${seed}  \n`) })).toEqual(key);
    const jwt = "eyJ0eXAiOiJqd3QifQ.e30.sig";
    const creds = `-----BEGIN NATS USER JWT-----\n${jwt}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------\n`;
    expect(await authOf({ file: written(creds) })).toEqual({ jwt, ...key });
  });

  test("is nothing where the file can't be used, which is named without what is in it", async () => {
    for (const text of ["", kSecret, `SA${"A".repeat(56)}`, "# nothing\n"]) {
      const file = written(text);
      const said = await authOf({ file }).then(String, String);
      expect(said).toContain(
        `TypeError: the credentials in ${file} can't be used: there is neither`,
      );
      expect(said).not.toContain(kSecret);
    }
    const open = written(seed);
    chmodSync(open, 0o644);
    await expect(authOf({ file: open })).rejects.toThrow("every user can read or write it");
    chmodSync(open, 0o640);
    await authOf({ file: open });
    await expect(authOf({ file: `${directory}/gone` })).rejects.toThrow("ENOENT");
    await expect(authOf({ file: directory })).rejects.toThrow("it is not a regular file");
    await expect(authOf({ file: written(`${kSeed}${" ".repeat(64 * 1024)}`) })).rejects.toThrow(
      "larger than",
    );
  });
});
