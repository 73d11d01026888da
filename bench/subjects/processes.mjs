// What some variants need in a process of its own, so that what it takes is nobody's. argv[2] is its role, the rest is the
// role's own. It ends with who started it or by SIGTERM.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";

import { kStream, pack, unpack } from "./jetstream.mjs";

/**
 * The servers that the network's scenarios fetch from. Sends { port, securePort } when both listen.
 * `large`: how many bytes GET /large is; then files of a key and a certificate.
 */
async function beServers(large, keyFile, certFile) {
  const largeBytes = Number(large);
  const block = Buffer.alloc(1024 * 1024, "x");
  const small = Buffer.from("small\n");
  async function answer(request, response) {
    if (request.url !== "/large") {
      response.writeHead(200, { "content-length": small.length }).end(small);
      return;
    }
    response.writeHead(200, { "content-length": largeBytes });
    for (let left = largeBytes; left > 0; left -= block.length) {
      const part = left < block.length ? block.subarray(0, left) : block;
      if (!response.write(part)) await once(response, "drain");
    }
    response.end();
  }

  async function listening(server) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server.address().port;
  }

  const key = readFileSync(keyFile);
  const cert = readFileSync(certFile);
  const port = await listening(http.createServer(answer));
  // HTTP/2 and 1.1, as the client likes it.
  const securePort = await listening(
    http2.createSecureServer({ key, cert, allowHTTP1: true }, answer),
  );
  process.on("disconnect", () => process.exit());
  process.send({ port, securePort });
}

/** A worker of ours whose commands are none: what is left is the dispatch. */
async function beNoop(url, name) {
  const { BrokerAccess } = await import("../../dist/remote/broker/broker-access.js");
  const { Connection } = await import("../../dist/remote/broker/connection.js");
  const { Worker } = await import("../../dist/remote/worker/worker.js");
  const usage = { userCpuMs: 0, systemCpuMs: 0, peakMemoryBytes: 0 };
  const audit = {
    ...{
      kind: "native.exec",
      cmd: "bwrap",
      argv: ["--args", "4", "--", "/bin/true"],
      durationMs: 1,
    },
    ...{ timedOut: false, signal: null, truncatedStdout: false, truncatedStderr: false },
    ...{
      runtime: "bubblewrap",
      layers: ["seccomp"],
      policyHash: "0".repeat(64),
      outcome: "exited",
    },
    ...{ usage, timing: { queueMs: 0, setupMs: 0, commandMs: 0, teardownMs: 0 }, start: "cloned" },
    ...{ prewarmed: false, kill: null },
  };
  const nothing = new Uint8Array(0);
  const place = {
    exec: async () => ({
      ...{ exitCode: 0, stdout: nothing, stderr: nothing, truncatedStdout: false },
      ...{ truncatedStderr: false, outcome: { kind: "exited" }, stdoutBytes: 0, stderrBytes: 0 },
      ...{ usage, audits: [audit], denials: [], denialsOmitted: 0 },
    }),
  };
  const granted = { place, bounded: (input) => input, release: () => {} };
  const connection = new Connection(new BrokerAccess({ servers: [url], insecure: true }));
  await connection.open();
  const places = { find: async () => granted, close: async () => {} };
  new Worker({ connection, pool: "bench", name, slots: 8, places }).start();
  process.stderr.write("serves\n");
  process.once("SIGTERM", () => process.exit(0));
}

const kSlots = 8;
const kClaimMs = 2_000;

/**
 * A worker of the design with a queue in JetStream: it pulls an offer, claims the run at its caller, and acknowledges
 * the offer once that is granted. Runs nothing.
 */
async function beClaims(url, name) {
  const { jetstream } = await import("@nats-io/jetstream");
  const { connect } = await import("@nats-io/transport-node");
  const connection = await connect({ servers: url, name });
  const consumer = await jetstream(connection).consumers.get(kStream.name, "work");

  async function serve() {
    for (;;) {
      const offer = await consumer.next({ expires: 3_000 });
      if (!offer) continue;
      const { run, caller } = unpack(offer.data);
      const claim = pack({ run, worker: name, time: performance.now() });
      const answer = await connection.request(`c.${caller}.claim`, claim, { timeout: kClaimMs });
      offer.ack();
      if (unpack(answer.data).go)
        connection.publish(`c.${caller}.${run}`, pack({ t: "end", exitCode: 0 }));
    }
  }

  for (let slot = 0; slot < kSlots; slot++) void serve();
  process.stderr.write("serves\n");
  process.once("SIGTERM", () => process.exit(0));
}

const kMessage = Buffer.alloc(192 * 1024);
const kBetweenFlushes = 8;

/** Publishes `size` bytes when it is told to, no faster than its connection takes them. */
async function bePublisher(url, size) {
  const { connect } = await import("@nats-io/transport-node");
  const bytes = Number(size);
  const connection = await connect({ servers: url });
  connection.subscribe("go", {
    callback: async () => {
      let messages = 0;
      for (let left = bytes; left > 0; left -= kMessage.length) {
        connection.publish("bytes", left < kMessage.length ? kMessage.subarray(0, left) : kMessage);
        if (++messages % kBetweenFlushes === 0) await connection.flush();
      }
    },
  });
  await connection.flush();
  process.stderr.write("serves\n");
}

const kRoles = { servers: beServers, noop: beNoop, claims: beClaims, publisher: bePublisher };

const [role, ...words] = process.argv.slice(2);
await kRoles[role](...words);
