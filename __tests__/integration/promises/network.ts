/** Promise 4: under "deny" there is no network, or only a loopback of one's own. */

import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";

import { kNodeProgram } from "../support/node-arguments.js";
import { kSocketName, type Services } from "./host-services.js";
import type { PromiseName } from "./matrix.js";
import { bindsWithNode, kProbe, type Scene } from "./probed-host.js";
import { type Promised, says } from "./promise.js";

const kNo = ["ECONNREFUSED", "ENETUNREACH", "EAGAIN", "EPERM", "EACCES", "ENOENT"];

const kDeny = () => ({ network: "deny" }) as const;
const kAllow = () => ({ network: "allow" }) as const;

function reaches(
  promise: PromiseName,
  name: string,
  probe: (scene: Scene) => string[],
  control: Promised["control"] = kAllow,
): Promised {
  return {
    promise,
    name: `reaches ${name}`,
    policy: kDeny,
    command: (scene) => [kProbe, ...probe(scene)],
    kept: says(...kNo),
    control,
    reached: says("hello"),
  };
}

const hostNetwork = (): string => readlinkSync("/proc/self/ns/net");

export function networkRows(services: () => Services): Promised[] {
  return [
    reaches("no-network", "a TCP service on the host's loopback", () => [
      "tcp",
      String(services().tcp),
    ]),
    reaches("no-network", "a UDP service on the host's loopback, as DNS is", () => [
      "udp",
      String(services().udp),
    ]),
    reaches("no-abstract-sockets", "an abstract socket of the host", () => [
      "abstract",
      services().abstract,
    ]),
    // A path is no matter of the network: "allow" shows it no better where it is not mounted.
    reaches(
      "no-sockets-outside",
      "a socket outside",
      ({ outside }) => ["unix", join(outside, kSocketName)],
      "local",
    ),
    reaches(
      "no-sockets-inside",
      "a socket that the host keeps in the workspace",
      () => ["unix", kSocketName],
      "local",
    ),
    {
      promise: "no-network",
      name: "sees the host's network interfaces",
      policy: kDeny,
      command: () => [kProbe, "interfaces"],
      kept: says("lo", "EACCES"),
      control: kAllow,
      reached: (seen) =>
        expect(seen.out.split("\n").sort()).toEqual(readdirSync("/sys/class/net").sort()),
    },
    {
      promise: "network-namespace",
      name: "shares the host's network namespace",
      policy: kDeny,
      command: () => "readlink /proc/self/ns/net",
      kept: (seen) => {
        expect(seen.out).toMatch(/^net:/);
        expect(seen.out).not.toBe(hostNetwork());
      },
      control: kAllow,
      reached: (seen) => expect(seen.out).toBe(hostNetwork()),
    },
  ];
}

/** A server and its client, both inside; Node must be among what is mounted. */
const kOwnServer = [
  kNodeProgram,
  "-e",
  `const net = require("node:net");
   const server = net.createServer((socket) => socket.end("hello")).listen(0, "127.0.0.1", () => {
     net.connect(server.address().port).on("data", (data) => {
       console.log(String(data));
       server.close();
     });
   });
   server.on("error", ({ code }) => console.log(code));`,
];

/** What is to work, not to be refused. */
export function loopbackRows(): Promised[] {
  return [
    {
      promise: "own-loopback",
      name: "speak to a server of its own",
      policy: () => ({ network: "deny", roBinds: bindsWithNode() }),
      command: () => kOwnServer,
      kept: says("hello"),
      control: "local",
      reached: says("hello"),
      isFeature: true,
    },
  ];
}
