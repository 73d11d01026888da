/** That nobody gets in without TLS and a key, and that tenants neither hear nor forge each other's messages. */

import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { connect, type NatsConnection, nkeyAuthenticator, nkeys } from "@nats-io/transport-node";
import { afterAll, beforeAll, expect, test } from "vitest";

import { writeBrokerConfig } from "../../../../lib/cli/worker/broker-config.js";
import { describeUnless, testUnless } from "../../support/requirements.js";
import {
  type Certificates,
  makeCertificates,
  startNatsServer,
  whyNoNatsServer,
  whyNoOpenssl,
} from "../support/nats-server.js";
import {
  type Broker,
  connectBy,
  kKeys,
  type Role,
  seedOf,
  startBroker,
} from "./configured-broker.js";

const kPlain = { reconnect: false, timeout: 20_000 };

describeUnless(whyNoNatsServer ?? whyNoOpenssl, "a broker of several tenants", () => {
  let certificates: Certificates;
  let broker: Broker;
  const open: NatsConnection[] = [];
  beforeAll(async () => {
    certificates = makeCertificates();
    broker = await startBroker(certificates);
  });
  afterAll(async () => {
    await Promise.all(open.map((each) => each.close()));
    await broker.server.stop();
  });
  const as = async (role: Role) => {
    const connection = await broker.connect(role);
    open.push(connection);
    return connection;
  };
  const listen = (connection: NatsConnection, subject: string, queue?: string) => {
    const heard: string[] = [];
    const callback = (
      error: Error | null,
      { subject: on, headers }: { subject: string; headers?: { code: number } },
    ) => {
      heard.push(error ? `${on} ${error.message}` : `${on}${headers ? ` ${headers.code}` : ""}`);
    };
    connection.subscribe(subject, { callback, ...(queue && { queue }) });
    return heard;
  };

  test("lets everybody in who has a key of the command's", async () => {
    for (const role of Object.keys(kKeys) as Role[]) {
      const connection = await broker.connect(role);
      await connection.flush();
      await connection.close();
    }
  });

  test("refuses who has no TLS, also with the right key", async () => {
    const authenticator = nkeyAuthenticator(new TextEncoder().encode(seedOf(broker, "caller a")));
    const { url } = broker.server;
    await expect(connect({ ...kPlain, servers: url, authenticator, tls: null })).rejects.toThrow(
      "tls",
    );
  });

  test("refuses who has no key, another one, or a public one alone", async () => {
    const seed = new TextDecoder().decode(nkeys.createUser().getSeed());
    const wrong = [{ nkeySeed: seed }, { user: "a", password: "a" }, { token: "a" }];
    for (const credentials of wrong) {
      await expect(broker.connect("caller a", { credentials })).rejects.toThrow(
        "Authorization Violation",
      );
    }
    const nkey = nkeys
      .fromSeed(new TextEncoder().encode(seedOf(broker, "caller a")))
      .getPublicKey();
    const tls = { ca: certificates.caText };
    const servers = `tls://localhost:${broker.server.port}`;
    const own = { ...kPlain, servers, tls };
    await expect(connect(own)).rejects.toThrow("Authorization Violation");
    const authenticator = () => ({ nkey, sig: Buffer.alloc(64).toString("base64") });
    await expect(connect({ ...own, authenticator })).rejects.toThrow("Authorization Violation");
  });

  test("is refused by clients where its certificate is not signed, or another's", async () => {
    await expect(broker.connect("caller a", { tls: {} })).rejects.toThrow(
      /self-signed|unable to (get|verify)/,
    );
    const other = await startBroker(makeCertificates("DNS:other.test"));
    const ca = readFileSync(path.join(path.dirname(certificates.ca), "ca.pem"), "utf8");
    await expect(other.connect("caller a", { tls: { ca } })).rejects.toThrow();
    await other.server.stop();
  });

  test("gets nothing of the credentials where it offers no TLS", async () => {
    let sent = "";
    const listener = createServer((socket) => {
      socket.on("data", (data) => {
        sent += data.toString();
        if (sent.includes("a-secret")) socket.destroy();
      });
      socket.on("error", () => {});
      socket.write(
        'INFO {"server_id":"x","version":"2.9.10","proto":1,"max_payload":1048576,"nonce":"abc"}\r\n',
      );
    }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const credentials = { user: "a", password: "a-secret" };
    for (const options of [
      { servers: [`tls://localhost:${port}`] },
      { servers: [`nats://localhost:${port}`], tls: {} },
    ]) {
      await expect(connectBy({ ...options, credentials })).rejects.toThrow(
        "server does not support 'tls'",
      );
    }
    expect(sent).toBe("");
    // The control: one that says that it is insecure does send them.
    const insecure = connectBy({
      servers: [`nats://127.0.0.1:${port}`],
      insecure: true,
      credentials,
    });
    await expect(insecure).rejects.toThrow();
    expect(sent).toContain("a-secret");
    listener.close();
  });

  test("gives a tenant's messages to that tenant alone", async () => {
    const [a, b, w1, w2] = [
      await as("caller a"),
      await as("caller b"),
      await as("worker w1"),
      await as("worker w2"),
    ];
    const [heardA, heardB] = [listen(a, "nr1.c.a.>"), listen(b, "nr1.c.b.>")];
    const byW1 = listen(w1, "nr1.free.build.*", "free");
    const byW2 = listen(w2, "nr1.free.build.*", "free");
    const named = [listen(w1, "nr1.w.build.w1.*.*"), listen(w2, "nr1.w.build.w2.*.*")];
    await Promise.all([a, b, w1, w2].map((each) => each.flush()));

    for (let i = 0; i < 50; i += 1)
      a.publish("nr1.free.build.a", "x", { reply: "nr1.c.a.me.none" });
    a.publish("nr1.w.build.w1.x7.a");
    await a.flush();
    await Promise.all([w1.flush(), w2.flush()]);
    // Each to one of them, as the tenant that it is from.
    expect(byW1.length + byW2.length).toBe(50);
    expect(new Set([...byW1, ...byW2])).toEqual(new Set(["nr1.free.build.a"]));
    expect(named).toEqual([["nr1.w.build.w1.x7.a"], []]);

    w1.publish("nr1.c.b.other.w.build.w1.x");
    w1.publish("nr1.c.a.me.w.build.w1.x");
    await w1.flush();
    await Promise.all([a.flush(), b.flush()]);
    expect([heardA, heardB]).toEqual([["nr1.c.a.me.w.build.w1.x"], ["nr1.c.b.other.w.build.w1.x"]]);
  });

  test("tells a caller that nobody is there, and nobody else, whatever it names as the reply", async () => {
    const [a, b] = [await as("caller a"), await as("caller b")];
    const [heardA, heardB] = [listen(a, "nr1.c.a.>"), listen(b, "nr1.c.b.>")];
    await Promise.all([a.flush(), b.flush()]);
    a.publish("nr1.free.nobody.a", "", { reply: "nr1.c.b.other.none" });
    a.publish("nr1.w.build.nobody.x.a", "", { reply: "nr1.c.b.other.gone" });
    a.publish("nr1.free.nobody.a", "", { reply: "nr1.c.a.me.none" });
    a.publish("nr1.w.build.nobody.x.a", "", { reply: "nr1.c.a.me.gone" });
    await a.flush();
    await b.flush();
    expect(heardB).toEqual([]);
    expect(heardA).toEqual(["nr1.c.a.me.none 503", "nr1.c.a.me.gone 503"]);
  });
});

describeUnless(whyNoNatsServer ?? whyNoOpenssl, "the configuration, written again", () => {
  test("keeps keys, adds some, and puts out who is left out", async () => {
    const certificates = makeCertificates();
    const broker = await startBroker(certificates);
    const { directory, server } = broker;
    const before = seedOf(broker, "caller a");
    const stays = await broker.connect("caller a");
    const goes = await broker.connect("caller b");
    const worker = [{ pool: "build", name: "w1" }];
    const said: string[] = [];
    const tls = { tlsCert: certificates.cert, tlsKey: certificates.key };
    await writeBrokerConfig({ directory, tenant: ["a", "d"], worker, ...tls }, nkeys, (line) =>
      said.push(line),
    );
    expect(said.map((line) => line.split(" ")[0])).toEqual(["kept", "made", "kept", "wrote"]);
    expect(seedOf(broker, "caller a")).toBe(before);
    server.reload();
    await goes.closed();
    await stays.flush();
    await expect(broker.connect("caller b")).rejects.toThrow("Authorization Violation");
    const added = await broker.connect("caller a", {
      credentials: { file: path.join(directory, "tenants/d.nk") },
    });
    await added.flush();
    await Promise.all([stays.close(), added.close(), server.stop()]);
  });

  test("has no secret in it, and leaves none where others can read it", async () => {
    const broker = await startBroker(makeCertificates());
    const config = readFileSync(path.join(broker.directory, "nats.conf"), "utf8");
    for (const role of Object.keys(kKeys) as Role[]) {
      expect(config).not.toContain(seedOf(broker, role));
      expect(statSync(path.join(broker.directory, kKeys[role])).mode & 0o777).toBe(0o600);
      expect(statSync(path.join(broker.directory, path.dirname(kKeys[role]))).mode & 0o777).toBe(
        0o700,
      );
    }
    expect(broker.server.log()).not.toMatch(/\bSU[A-Z2-7]{56}/);
    await broker.server.stop();
  });

  test("is refused where it would not keep them apart", async () => {
    const write = (options: object) =>
      writeBrokerConfig({ directory: "/nowhere", tenant: ["a"], ...options }, nkeys, () => {});
    const tls = { tlsCert: "a", tlsKey: "b" };
    const worker = [
      { pool: "build", name: "w" },
      { pool: "gpu", name: "w" },
    ];
    await expect(write({ ...tls, worker })).rejects.toThrow("--worker w is there twice");
    await expect(write({})).rejects.toThrow("--tls-cert and --tls-key are needed");
    await expect(write({ ...tls, insecure: true })).rejects.toThrow("not both");
    const listen = { host: "10.0.0.1", port: 1 };
    await expect(write({ insecure: true, listen })).rejects.toThrow("on this machine alone");
    await expect(write({ ...tls, tenant: [] })).rejects.toThrow("--operator is needed");
  });
});

testUnless(
  whyNoNatsServer,
  "a server without a configuration is there for tests of other things",
  async () => {
    const server = await startNatsServer();
    const connection = await connectBy({ servers: [server.url], insecure: true });
    await connection.flush();
    await connection.close();
    await server.stop();
  },
);
