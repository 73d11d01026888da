/** Promise 4: under "deny" there is only a loopback of one's own. */

import { randomUUID } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readdirSync, readlinkSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { expect } from "vitest";

import { type Promised, says } from "./promise.js";
import { bindsWithNode, kProbe } from "./scene.js";

/** What listens on the host; each answers "hello". */
export type Services = { tcp: number; udp: number; abstract: string; close(): Promise<void> };

async function listen(at: { host: string; port: number } | { path: string }): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end("hello"));
  });
  server.listen(at);
  await once(server, "listening");
  return server;
}

export async function startServices(): Promise<Services> {
  const abstract = `native-runner-${randomUUID()}`;
  const tcp = await listen({ host: "127.0.0.1", port: 0 });
  const unix = await listen({ path: `\0${abstract}` });
  const udp = createSocket("udp4");
  udp.on("message", (_, from) => udp.send("hello", from.port, from.address));
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  return {
    tcp: (tcp.address() as AddressInfo).port,
    udp: udp.address().port,
    abstract,
    close: async () => {
      udp.close();
      for (const server of [tcp, unix]) {
        server.close();
        await once(server, "close");
      }
    },
  };
}

const kNo = ["ECONNREFUSED", "ENETUNREACH", "EAGAIN", "EPERM", "EACCES"];

function reaches(
  name: string,
  probe: (services: Services) => string[],
  services: () => Services,
): Promised {
  return {
    name: `reaches ${name}`,
    policy: () => ({ network: "deny" }),
    command: () => [kProbe, ...probe(services())],
    refused: says(...kNo),
    control: () => ({ network: "allow" }),
    reached: says("hello"),
  };
}

const hostNetwork = (): string => readlinkSync("/proc/self/ns/net");

/** A server and its client, both inside; Node must be among what is mounted. */
const kOwnServer = [
  process.execPath,
  "-e",
  `const net = require("node:net");
   const server = net.createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1", () => {
     net.connect(server.address().port).on("data", (data) => {
       console.log(String(data));
       server.close();
     });
   });`,
];

const interfaces = "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort";

export function networkRows(services: () => Services): Promised[] {
  return [
    reaches("a TCP service on the host's loopback", ({ tcp }) => ["tcp", String(tcp)], services),
    reaches(
      "a UDP service on the host's loopback, as DNS is",
      ({ udp }) => ["udp", String(udp)],
      services,
    ),
    reaches("an abstract socket of the host", ({ abstract }) => ["abstract", abstract], services),
    {
      name: "sees the host's network interfaces",
      policy: () => ({ network: "deny" }),
      command: () => interfaces,
      refused: (seen) => expect(seen.out).toBe("lo"),
      control: () => ({ network: "allow" }),
      reached: (seen) =>
        expect(seen.out.split("\n").sort()).toEqual(readdirSync("/sys/class/net").sort()),
    },
    {
      name: "shares the host's network namespace",
      policy: () => ({ network: "deny" }),
      command: () => "readlink /proc/self/ns/net",
      refused: (seen) => expect(seen.out).not.toBe(hostNetwork()),
      control: () => ({ network: "allow" }),
      reached: (seen) => expect(seen.out).toBe(hostNetwork()),
    },
    {
      name: "is kept from a server of its own on its loopback",
      policy: () => ({ network: "deny", roBinds: bindsWithNode() }),
      command: (_, isControl) => (isControl ? kOwnServer : [kProbe, "tcp", "1"]),
      refused: says(...kNo),
      control: "inside",
      reached: says("hello"),
    },
  ];
}
