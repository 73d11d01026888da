import { nkeys } from "@nats-io/transport-node";
import { expect, test } from "vitest";

import {
  callerPermissions,
  natsConfig,
  operatorPermissions,
  workerPermissions,
} from "../../../lib/remote/broker/broker-config.js";

test("a caller speaks as its tenant, and hears its tenant", () => {
  expect(callerPermissions("ci")).toEqual({
    publish: ["nr1.free.*.ci", "nr1.want.*.ci", "nr1.w.*.*.*.ci"],
    subscribe: ["nr1.c.ci.>"],
  });
  expect(callerPermissions("ci", ["build", "gpu"]).publish).toEqual([
    ...["nr1.free.build.ci", "nr1.want.build.ci", "nr1.w.build.*.*.ci"],
    ...["nr1.free.gpu.ci", "nr1.want.gpu.ci", "nr1.w.gpu.*.*.ci"],
  ]);
  expect(callerPermissions("ci", []).publish).toEqual([]);
});

test("a worker hears its pool in turn and itself, and speaks to callers", () => {
  expect(workerPermissions({ pool: "build", name: "w1" })).toEqual({
    publish: ["nr1.c.*.*.w.build.w1.*", "nr1.o.*.w.build.w1"],
    subscribe: [
      ...["nr1.free.build.* free", "nr1.want.build.* want", "nr1.w.build.w1.*.*"],
      ...["nr1.list.*", "nr1.op.build.w1.*"],
    ],
  });
});

test("an operator speaks to all workers, and to no caller", () => {
  expect(operatorPermissions("ops")).toEqual({
    publish: ["nr1.list.ops", "nr1.op.*.*.ops"],
    subscribe: ["nr1.o.ops.>"],
  });
});

test.each(["", "*", ">", "a.b", "a b", "a\n", "ä", "x".repeat(65)])("%j is no name", (name) => {
  const message = "letters, digits, hyphens and underscores";
  expect(() => callerPermissions(name)).toThrow(message);
  expect(() => callerPermissions("t", [name])).toThrow(message);
  expect(() => workerPermissions({ pool: name, name: "w" })).toThrow(message);
  expect(() => workerPermissions({ pool: "p", name })).toThrow(message);
  expect(() => operatorPermissions(name)).toThrow(message);
});

const nkey = nkeys.createUser().getPublicKey();
const user = { label: "callers of the tenant a", nkey, permissions: callerPermissions("a") };

test("is a configuration without JetStream, in which nobody else may do anything", () => {
  const text = natsConfig({
    listen: "0.0.0.0:4222",
    tls: { cert: '/etc/a"b\\c.pem', key: "/etc/k.pem", ca: "/etc/ca.pem" },
    users: [user],
  });
  expect(
    text,
  ).toBe(`# Written by \`native-runner broker-config\`, which writes it anew: what is changed here is lost then.
# There is no JetStream: commands, environments and input never lie in a queue.
listen: "0.0.0.0:4222"
max_payload: 1048576

tls {
  cert_file: "/etc/a\\"b\\\\c.pem"
  key_file: "/etc/k.pem"
  ca_file: "/etc/ca.pem"
  verify: true
  timeout: 5
}

authorization {
  # Who has no permissions of its own has none.
  default_permissions: { publish: { deny: ">" }, subscribe: { deny: ">" } }
  users: [
    # callers of the tenant a
    {
      nkey: ${nkey}
      permissions: {
        publish: { allow: ["nr1.free.*.a", "nr1.want.*.a", "nr1.w.*.*.*.a"] }
        subscribe: { allow: ["nr1.c.a.>"] }
      }
    }
  ]
}
`);
});

test("refuses what would not be what it says", () => {
  const config = { listen: "127.0.0.1:1", users: [user] };
  expect(natsConfig(config)).not.toContain("tls");
  expect(() => natsConfig({ ...config, users: [user, user] })).toThrow("a key of its own");
  expect(() => natsConfig({ ...config, listen: "a\nb" })).toThrow("control characters");
  expect(() => natsConfig({ ...config, users: [{ ...user, nkey: "U }" }] })).toThrow("public nkey");
  const seed = new TextDecoder().decode(nkeys.createUser().getSeed());
  expect(() => natsConfig({ ...config, users: [{ ...user, nkey: seed }] })).toThrow("public nkey");
});
