// As root too: root's sandboxes have other ways out.
/** `network.hostPorts`: ports of the host's loopback at the sandbox's own, and no others. */

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { eventually, kHungMs } from "../../support/waits.js";
import { command, kCli, whyNoCli } from "../support/built-cli.js";
import { jsonOfHost } from "../support/host-program.js";
import { kNodeInside } from "../support/node-arguments.js";
import {
  BubblewrapNativeRunner,
  type BubblewrapNetwork,
  type NetworkConnection,
} from "../support/package.js";
import {
  describeSandboxed,
  isRoot,
  plainEnvironment,
  testUnless,
} from "../support/requirements.js";
import { type Seen, see } from "../support/results.js";
import { tempDirectory } from "../support/temp.js";
import { freePort, serve } from "./host-services.js";
import { whyNoOwnNetwork } from "./own-network.js";

const runnerWith = (network: BubblewrapNetwork) =>
  new BubblewrapNativeRunner({ shadowDir: tempDirectory("host-ports"), network, prewarm: 0 });

type Ports = Record<string, number | string>;
const inputOf = (code: string, ports: Ports = {}) => ({
  argv: ["/usr/bin/python3", "-c", code],
  env: Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
  limits: { timeoutMs: kHungMs },
});

/** Runs a Python program in a sandbox with this network. */
async function python(network: BubblewrapNetwork, code: string, ports: Ports = {}) {
  const runner = runnerWith(network);
  try {
    return see(await runner.exec(inputOf(code, ports)));
  } finally {
    await runner.close();
  }
}

const connectionsOf = ({ result }: Pick<Seen, "result">) =>
  (result as unknown as { audits: { connections: NetworkConnection[] }[] }).audits[0]?.connections;

/** Settles when the socket is closed, in whatever way. */
const closeOf = (socket: Socket) => new Promise((resolve) => socket.on("close", resolve));

const named = (name: string) => (socket: Socket) => socket.end(`${name}\n`);
const echo = (socket: Socket) => socket.pipe(socket);

/** Runs the command line to its end, while this process serves. */
async function cliEnd([program = "", ...args]: readonly string[]) {
  const child = spawn(program, args, {
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const closed = once(child, "close");
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await closed;
  return { out, err };
}

const kSay = `import os, socket
for place in os.environ["PLACES"].split():
  host, port = place.rsplit(":", 1)
  try: print(place, socket.create_connection((host, int(port)), 10).recv(99).decode().strip())
  except OSError as error: print(place, error.strerror)`;

const kClient = `import os, socket
s = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 10)
`;

describeSandboxed("ports of the host's loopback", () => {
  test.each<[string, (port: number) => BubblewrapNetwork]>([
    ["alone", (port) => ({ hostPorts: [port] })],
    ["with a name", (port) => ({ hostPorts: [`127.0.0.1:${port}`], allow: ["a.test"] })],
    ["with a name of the same port", (port) => ({ hostPorts: [port], allow: [`a.test:${port}`] })],
    ["with presets", (port) => ({ hostPorts: [port], presets: ["npm"] })],
    ["with somebody to ask", (port) => ({ hostPorts: [port], onRequest: () => "deny" })],
  ])("%s are at the sandbox's, and no others", async (_, network) => {
    const [granted, other] = [await serve(named("granted")), await serve(named("other"))];
    const open = ["127.0.0.1", "localhost", "::1"].map((host) => `${host}:${granted.port}`);
    const closed = ["127.0.0.1", "localhost", "::1"].map((host) => `${host}:${other.port}`);
    const places = { PLACES: [...open, ...closed].join(" ") };
    const seen = await python(network(granted.port), kSay, places);
    expect(seen.out.split("\n"), seen.err).toEqual([
      ...open.map((place) => `${place} granted`),
      ...closed.map((place) => `${place} Connection refused`),
    ]);
    const record = {
      host: "127.0.0.1",
      port: granted.port,
      address: "127.0.0.1",
      verdict: "allowed",
      rule: `127.0.0.1:${granted.port}`,
      via: "host-port",
      bytesOut: 0,
      bytesIn: 8,
      durationMs: expect.any(Number),
      count: 1,
    };
    expect(connectionsOf(seen)).toEqual([record, record, record]);
    // The controls: the other one is there, and under no rule nothing of the loopback is.
    const atHost = await python("allow", kSay, { PLACES: closed[0] ?? "" });
    expect(atHost.out).toBe(`${closed[0]} other`);
    const none = await python({ allow: [] }, kSay, { PLACES: open[0] ?? "" });
    expect(none.out).toBe(`${open[0]} Connection refused`);
  });

  test("an entry's address is the host's, whatever the sandbox connects to", async () => {
    const [two, six] = [await serve(named("two"), "127.0.0.2"), await serve(named("six"), "::1")];
    const network = { hostPorts: [`127.0.0.2:${two.port}`, `[::1]:${six.port}`] };
    const places = [`127.0.0.1:${two.port}`, `127.0.0.1:${six.port}`, `::1:${six.port}`];
    const seen = await python(network, kSay, { PLACES: places.join(" ") });
    expect(seen.out.split("\n")).toEqual([
      `${places[0]} two`,
      `${places[1]} six`,
      `${places[2]} six`,
    ]);
    expect(connectionsOf(seen)?.map(({ host, address, rule }) => [host, address, rule])).toEqual([
      ["127.0.0.2", "127.0.0.2", `127.0.0.2:${two.port}`],
      ["::1", "::1", `[::1]:${six.port}`],
      ["::1", "::1", `[::1]:${six.port}`],
    ]);
  });

  test("two sandboxes with different ports don't see each other's", async () => {
    const [one, other] = [await serve(named("one")), await serve(named("other"))];
    const places = [`127.0.0.1:${one.port}`, `127.0.0.1:${other.port}`];
    const [ofOne, ofOther] = await Promise.all(
      [one, other].map(({ port }) =>
        python({ hostPorts: [port] }, kSay, { PLACES: places.join(" ") }),
      ),
    );
    expect(ofOne?.out).toBe(`${places[0]} one\n${places[1]} Connection refused`);
    expect(ofOther?.out).toBe(`${places[0]} Connection refused\n${places[1]} other`);
  });

  test("much goes both ways at once, and an end is only of its direction", async () => {
    const bytes = randomBytes(64 << 20);
    const digest = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");
    const service = await serve((socket) => {
      const hash = createHash("sha256");
      socket.write(bytes);
      socket.on("data", (chunk) => hash.update(chunk));
      socket.on("end", () => socket.end(hash.digest())); // after the client's end
    });
    const code = `${kClient}import hashlib, threading
sent = os.urandom(1 << 20) * 64
def send(): s.sendall(sent); s.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got = bytearray()
while part := s.recv(1 << 20): got += part
print(hashlib.sha256(got[:-32]).hexdigest(), hashlib.sha256(sent).digest() == got[-32:])`;
    const seen = await python({ hostPorts: [service.port] }, code, { PORT: service.port });
    expect(seen.out, seen.err).toBe(`${digest(bytes)} True`);
    const [record] = connectionsOf(seen) ?? [];
    expect(record).toMatchObject({ bytesOut: 64 << 20, bytesIn: (64 << 20) + 32 });
    expect(record).not.toHaveProperty("reason");
  });

  test("200 connections are open at once", async () => {
    let most = 0;
    const service = await serve((socket) => {
      most = Math.max(most, service.sockets.size);
      echo(socket);
    });
    const code = `import os, socket
many = [socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 30) for _ in range(200)]
for at, s in enumerate(many): s.sendall(b"%d." % at)
right = 0
for at, s in enumerate(many):
  got = b""
  while not got.endswith(b"."): got += s.recv(99)
  right += got == b"%d." % at
print(right)`;
    const seen = await python({ hostPorts: [service.port] }, code, { PORT: service.port });
    expect(seen.out, seen.err).toBe("200");
    expect(most).toBe(200);
    expect(connectionsOf(seen)).toHaveLength(200);
  });

  test("a client that never reads holds up no other, and its run's end ends it", async () => {
    const closed: Promise<unknown>[] = [];
    const service = await serve((socket) => {
      closed.push(closeOf(socket));
      const fill = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(1 << 16)));
      };
      socket.on("drain", fill);
      fill();
    });
    const quick = await serve(named("quick"));
    const code = `${kClient}
print(socket.create_connection(("127.0.0.1", int(os.environ["QUICK"])), 10).recv(99))`;
    const ports = { PORT: service.port, QUICK: quick.port };
    const seen = await python({ hostPorts: [service.port, quick.port] }, code, ports);
    expect(seen.out, seen.err).toBe("b'quick\\n'");
    expect(closed).toHaveLength(1);
    await Promise.all(closed);
    expect(connectionsOf(seen)).toHaveLength(2);
  });

  test("the end of a run ends its connections, also of what it left behind", async () => {
    const closed: Promise<unknown>[] = [];
    const service = await serve((socket) => {
      closed.push(closeOf(socket));
      socket.write("hello");
      socket.resume().on("end", () => socket.end());
    });
    const code = `import os, sys, socket
s = socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 10); s.recv(5)
if os.fork() == 0: os.setsid(); s.recv(1); os._exit(0)
os._exit(7)`;
    const seen = await python({ hostPorts: [service.port] }, code, { PORT: service.port });
    expect(seen.exitCode).toBe(7);
    await Promise.all(closed);
    expect(closed).toHaveLength(1);
  });

  test("a service that dies in the middle ends the connection, and nothing else", async () => {
    const dying = await serve((socket) => {
      socket.write("half");
      socket.once("data", () => socket.resetAndDestroy());
    });
    const quick = await serve(named("quick"));
    const code = `${kClient}print(s.recv(4)); s.sendall(b"x")
try: print(s.recv(99))
except OSError as error: print(error.strerror)
print(socket.create_connection(("127.0.0.1", int(os.environ["QUICK"])), 10).recv(99))`;
    const ports = { PORT: dying.port, QUICK: quick.port };
    const seen = await python({ hostPorts: [dying.port, quick.port] }, code, ports);
    expect(seen.out, seen.err).toBe("b'half'\nConnection reset by peer\nb'quick\\n'");
    expect(connectionsOf(seen)?.[0]).toMatchObject({ bytesOut: 1, bytesIn: 4 });
  });

  test("where nothing listens the client gets a reset at once, and the record says why", async () => {
    const port = await freePort();
    const code = `import os, socket
try: print(socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 10).recv(99))
except OSError as error: print(error.strerror)`;
    const seen = await python({ hostPorts: [port] }, code, { PORT: port });
    expect(seen.out, seen.err).toMatch(/^Connection reset by peer$/);
    expect(connectionsOf(seen)).toMatchObject([
      {
        host: "127.0.0.1",
        port,
        verdict: "allowed",
        reason: "it can't be connected to: Connection refused",
        via: "host-port",
        bytesOut: 0,
        bytesIn: 0,
      },
    ]);
  });

  // Its control: without the check the kernel connects the socket to itself there.
  testUnless(
    whyNoOwnNetwork,
    "a socket that the kernel connects to itself is no service",
    async () => {
      const program = fileURLToPath(
        new URL("../hosts/network/self-connected.mjs", import.meta.url),
      );
      const range = `ip link set lo up && echo "40000 40000" > /proc/sys/net/ipv4/ip_local_port_range`;
      const own = isRoot ? ["--net"] : ["--user", "--map-root-user", "--net"];
      const words = ["unshare", ...own, "sh", "-c", `${range} && exec "$@"`, "sh", ...kNodeInside];
      const said = await jsonOfHost([...words, program, tempDirectory("host-ports"), "40000"]);
      expect(said).toEqual({
        itself: true,
        out: "Connection reset by peer",
        reasons: ["it can't be connected to: nothing listens there"],
      });
    },
  );

  type Attack = { name: string; control: "granted" | "free" | "named"; code: string[] };
  const attacks: Attack[] = JSON.parse(
    readFileSync(new URL("host-port-attacks.json", import.meta.url), "utf8"),
  );
  test.each(attacks)("are not left by $name", async ({ control, code }) => {
    const granted = await serve(echo);
    const other = await serve(named("the other"));
    const attempt = (network: BubblewrapNetwork, at: number, target: number) =>
      python(network, code.join("\n"), { AT: at, TARGET: target });
    const network = { hostPorts: [granted.port] };
    const isBind = control === "free";
    const seen = await attempt(network, granted.port, isBind ? granted.port : other.port);
    expect(seen.out).not.toContain("yes");
    expect(seen.out, seen.err).not.toBe("");
    expect(other.sockets.size).toBe(0);
    if (isBind) {
      expect(seen.out).toContain("Address already in use");
      expect((await attempt(network, granted.port, await freePort())).out).toBe("yes");
      return;
    }
    const open: BubblewrapNetwork =
      control === "granted"
        ? { hostPorts: [granted.port, other.port] }
        : { allow: [`localhost:${other.port}`], allowPrivate: ["127.0.0.1", "::1"] };
    const through = await attempt(open, other.port, other.port);
    expect(through.out, through.err).toContain("yes");
  });

  test("no command of a session takes a sibling's connections", async () => {
    const granted = await serve(named("granted"));
    const shadowDir = tempDirectory("host-ports");
    const network = { hostPorts: [granted.port] };
    const runner = new BubblewrapNativeRunner({ shadowDir, network, prewarm: 0 });
    const session = await runner.openSession();
    const thief = `import os, socket
taken, ready = [], False
while not os.path.exists("stop"):
  for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::")):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try: s.bind((host, int(os.environ["PORT"]))); s.listen(); taken.append(s)
    except OSError: s.close()
  if not ready: ready = open("ready", "w")
print(len(taken))`;
    const ports = { PORT: granted.port, PLACES: `127.0.0.1:${granted.port}` };
    const thieving = session.exec(inputOf(thief, ports));
    await eventually("the thief's first try", () => existsSync(join(shadowDir, "ready")));
    for (let turn = 0; turn < 10; turn += 1) {
      const sibling = see(await session.exec(inputOf(kSay, ports)));
      expect(sibling.out, sibling.err).toBe(`127.0.0.1:${granted.port} granted`);
    }
    writeFileSync(join(shadowDir, "stop"), "");
    const { out, err } = see(await thieving);
    await session.close();
    await runner.close();
    expect(out, err).toBe("0");
  });

  testUnless(whyNoCli, "the command line names them by --host-port", async () => {
    const service = await serve(named("hello"));
    const script = `exec 3<>/dev/tcp/127.0.0.1/${service.port}; cat <&3`;
    const words = (...options: string[]) => {
      const line = [...kCli, "run", "--no-stdin", "-w", tempDirectory("work"), ...options];
      return [...line, "--", "bash", "-c", script];
    };
    const granted = await cliEnd(words("--host-port", String(service.port), "--json"));
    expect(granted.err).toBe("");
    const { stdout, audits } = JSON.parse(granted.out);
    expect(stdout).toBe("hello\n");
    expect(audits[0].connections).toMatchObject([{ via: "host-port", port: service.port }]);
    const without = await cliEnd(words());
    expect(without.err).toContain("Connection refused");
    service.server.close();
    await once(service.server, "close");
    const gone = await cliEnd(words("--host-port", String(service.port)));
    expect(gone.err).toContain(
      `native-runner: the host's 127.0.0.1:${service.port} was not reached (it can't be connected to: Connection refused)\n`,
    );
    const both = command(words("--network", "deny", "--host-port", "5432"));
    expect([both.status, both.stderr]).toEqual([
      2,
      expect.stringContaining("--host-port or --network, not both"),
    ]);
    const wrong = command(words("--host-port", "localhost:5432"));
    expect([wrong.status, wrong.stderr]).toEqual([
      2,
      expect.stringContaining("Expected a port of the host's loopback such as 5432"),
    ]);
  });
});
