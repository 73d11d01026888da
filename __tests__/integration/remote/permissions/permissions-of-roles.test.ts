/** What each role may do at the broker, and that all else is refused there: the table of docs/scale/tenants.md. */

import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { describeUnless } from "../../support/requirements.js";
import { makeCertificates, whyNoNatsServer, whyNoOpenssl } from "../support/nats-server.js";
import {
  type Broker,
  type BrokerKind,
  kKeys,
  type Role,
  refusalsOf,
  startBroker,
} from "./configured-broker.js";

type Rows = { publish: string[]; subscribe: string[] };

const kCallerA = {
  publish: ["nr1.free.build.a", "nr1.free.gpu.a", "nr1.want.build.a", "nr1.w.build.w1.x7.a"],
  subscribe: ["nr1.c.a.>", "nr1.c.a.me", "nr1.c.a.me.none", "nr1.c.a.*"],
};
const kWorkerW1 = {
  publish: ["nr1.c.a.me.w.build.w1.x7", "nr1.c.b.other.w.build.w1.x7", "nr1.o.ops.w.build.w1"],
  subscribe: [
    "nr1.free.build.* free",
    "nr1.want.build.* want",
    "nr1.free.build.a free",
    "nr1.w.build.w1.*.*",
    "nr1.w.build.w1.x7.*",
    "nr1.w.build.w1.x7.a",
    "nr1.list.*",
    "nr1.op.build.w1.*",
  ],
};
const kAllowed: Partial<Record<Role, Rows>> = {
  "caller a": kCallerA,
  "caller b": { publish: ["nr1.free.build.b", "nr1.w.build.w1.x7.b"], subscribe: ["nr1.c.b.>"] },
  "caller c": {
    publish: ["nr1.free.gpu.c", "nr1.want.gpu.c", "nr1.w.gpu.g1.x7.c"],
    subscribe: ["nr1.c.c.>"],
  },
  "worker w1": kWorkerW1,
  "worker g1": {
    publish: ["nr1.c.a.me.w.gpu.g1.x7"],
    subscribe: ["nr1.free.gpu.* free", "nr1.w.gpu.g1.*.*"],
  },
  "operator ops": {
    publish: ["nr1.list.ops", "nr1.op.build.w1.ops", "nr1.op.gpu.g1.ops"],
    subscribe: ["nr1.o.ops.>", "nr1.o.ops.w.build.w1"],
  },
};

/** What the server, others' systems and clients use. */
const kSystem = {
  publish: [
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.USER.INFO",
    "$SYS.REQ.ACCOUNT.PING.CONNZ",
    "$JS.API.INFO",
    "$JS.API.STREAM.CREATE.X",
    "$KV.x",
    "_INBOX.x",
    "_R_.x",
    "nr1",
    "x",
  ],
  subscribe: [
    ">",
    "*",
    "*.>",
    "nr1.>",
    "nr1.*.>",
    "$SYS.>",
    "$SYS.ACCOUNT.*.CONNECT",
    "$JS.>",
    "_INBOX.>",
    "_INBOX.x.*",
    "_R_.>",
    "> free",
    "> q",
  ],
};

const kForbidden: Partial<Record<Role, Rows>> = {
  "caller a": {
    publish: [
      // As another tenant, or as everybody.
      "nr1.free.build.b",
      "nr1.want.build.b",
      "nr1.w.build.w1.x7.b",
      "nr1.free.build",
      "nr1.free.build.a.b",
      "nr1.w.build.w1.a",
      "nr1.w.build.w1.x7.y.a",
      // As a worker, to others and to its own tenant.
      "nr1.c.b.other",
      "nr1.c.a.me",
      "nr1.c.a.me.gone",
      // As an operator.
      "nr1.list.a",
      "nr1.list.ops",
      "nr1.op.build.w1.a",
      "nr1.op.build.w1.ops",
    ],
    subscribe: [
      "nr1.o.ops.>",
      "nr1.list.*",
      "nr1.op.build.w1.*",
      "nr1.c.b.>",
      "nr1.c.b.other",
      "nr1.c.*.>",
      "nr1.c.>",
      "nr1.c.*.me",
      "nr1.c.*.*",
      "nr1.*.a.>",
      "nr1.c.b.> free",
      "nr1.c.b.other q",
      // What workers hear, also its own tenant's, in a group or not.
      "nr1.free.build.a",
      "nr1.free.build.* free",
      "nr1.free.*.a free",
      "nr1.want.build.* want",
      "nr1.want.>",
      "nr1.w.build.w1.x7.a",
      "nr1.w.*.*.*.a",
      "nr1.w.>",
    ],
  },
  "worker w1": {
    publish: [
      // As a caller, or to other workers.
      "nr1.free.build.a",
      "nr1.want.build.a",
      "nr1.w.build.w1.x7.a",
      "nr1.w.build.w2.x7.a",
      "nr1.c.a",
      "nr1.c.a.me",
      "nr1.c.a.me.none",
      "nr1.c.a.me.none.build",
      "nr1.c.a.me.gone",
      "nr1.c.a.me.gone.w1.x7.1",
      // As another worker, or of another pool.
      "nr1.c.a.me.w.build.w2.x7",
      "nr1.c.a.me.w.gpu.w1.x7",
      "nr1.c.a.me.w.build.w1",
      "nr1.c.a.me.w.build.w1.x7.y",
      // As an operator, or as another worker to one.
      "nr1.list.ops",
      "nr1.op.build.w2.ops",
      "nr1.o.ops.w.build.w2",
      "nr1.o.ops.w.gpu.w1",
      "nr1.o.ops.none.x",
    ],
    subscribe: [
      // Without the group it would hear all of what it has to share; in another, a second time.
      "nr1.free.build.*",
      "nr1.want.build.*",
      "nr1.free.build.a",
      "nr1.free.build.* want",
      "nr1.free.build.* mine",
      "nr1.want.build.* free",
      // Another pool, or all.
      "nr1.free.gpu.* free",
      "nr1.free.*.* free",
      "nr1.free.> free",
      "nr1.free.*.a free",
      "nr1.want.gpu.* want",
      // What other workers, and callers, hear.
      "nr1.w.build.w2.*.*",
      "nr1.w.*.*.*.*",
      "nr1.w.>",
      "nr1.w.build.w2.x7.a",
      "nr1.w.build.w1.>",
      "nr1.w.*.*.*.a q",
      "nr1.c.a.>",
      "nr1.c.a.me",
      "nr1.c.*.*",
      "nr1.c.a.me q",
      "nr1.op.build.w2.*",
      "nr1.op.*.*.*",
      "nr1.o.ops.>",
    ],
  },
  "caller c": {
    // It may use one pool.
    publish: ["nr1.free.build.c", "nr1.want.build.c", "nr1.w.build.w1.x7.c", "nr1.w.*.w1.x7.c"],
    subscribe: ["nr1.c.a.>"],
  },
  "operator ops": {
    // As another operator, as a caller, and as a worker.
    publish: [
      "nr1.list.other",
      "nr1.op.build.w1.other",
      "nr1.want.build.a",
      "nr1.free.build.ops",
      "nr1.w.build.w1.x7.a",
      "nr1.c.a.me",
      "nr1.o.ops.w.build.w1",
    ],
    subscribe: ["nr1.o.other.>", "nr1.o.>", "nr1.list.*", "nr1.op.build.w1.*", "nr1.c.a.>"],
  },
  "worker g1": {
    publish: ["nr1.w.build.w1.x7.a"],
    subscribe: ["nr1.free.build.* free", "nr1.w.build.w1.*.*"],
  },
};

function act(connection: NatsConnection, operation: keyof Rows, row: string): void {
  const [subject = "", queue] = row.split(" ");
  if (operation === "publish") connection.publish(subject);
  else connection.subscribe(subject, { ...(queue && { queue }), callback: () => {} });
}

const rowsOf = (table: Partial<Record<Role, Rows>>) =>
  Object.entries(table).flatMap(([role, rows]) =>
    (["publish", "subscribe"] as const).flatMap((operation) =>
      rows[operation].map((row) => [role as Role, operation, row] as const),
    ),
  );

describeUnless(whyNoNatsServer ?? whyNoOpenssl, "the broker's permissions", () => {
  describe.each(["nkeys", "accounts"] as const)("by %s", (kind) => permissionsBy(kind));
});

function permissionsBy(kind: BrokerKind): void {
  let broker: Broker;
  const connections = new Map<Role, NatsConnection>();
  beforeAll(async () => {
    broker = await startBroker(makeCertificates(), kind);
    for (const role of Object.keys(kKeys) as Role[])
      connections.set(role, await broker.connect(role));
  });
  afterAll(async () => {
    await Promise.all([...connections.values()].map((each) => each.close()));
    await broker.server.stop();
  });
  const refused = async (role: Role, operation: keyof Rows, row: string) => {
    const connection = connections.get(role);
    if (connection === undefined) throw new Error(`there is no ${role}`);
    return refusalsOf(connection, (own) => act(own, operation, row));
  };

  test.each(rowsOf(kAllowed))("%s may %s %s", async (role, operation, row) => {
    expect(await refused(role, operation, row)).toEqual([]);
  });

  test.each(rowsOf(kForbidden))("%s may not %s %s", async (role, operation, row) => {
    expect(await refused(role, operation, row)).toEqual([`${operation} ${row}`]);
  });

  const everybody = Object.fromEntries(
    (Object.keys(kKeys) as Role[]).map((role) => [role, kSystem]),
  );
  test.each(rowsOf(everybody))("%s may not %s %s", async (role, operation, row) => {
    expect(await refused(role, operation, row)).toEqual([`${operation} ${row}`]);
  });
}
