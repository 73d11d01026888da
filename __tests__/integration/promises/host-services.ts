/** What is alive on the host while commands are tried: listeners, and a process. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";

import { kSecret, type Scene } from "./probed-host.js";

/** Each that listens answers "hello". */
export type Services = {
  tcp: number;
  udp: number;
  /** The name of an abstract socket. */
  abstract: string;
  /** A process of the same user with kSecret in its environment. */
  process: number;
  close(): Promise<void>;
};

/** The names of the sockets with a path, below the workspace and below scene.outside. */
export const kSocketName = "host.sock";

async function listen(at: { host: string; port: number } | { path: string }): Promise<Server> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end("hello"));
  });
  server.listen(at);
  await once(server, "listening");
  return server;
}

async function startProcess(): Promise<ChildProcess> {
  const child = spawn("sleep", ["1000"], { env: { ...process.env, kSecret }, stdio: "ignore" });
  await once(child, "spawn");
  return child;
}

export async function startServices({ workspace, outside }: Scene): Promise<Services> {
  const abstract = `native-runner-${randomUUID()}`;
  const tcp = await listen({ host: "127.0.0.1", port: 0 });
  const servers = [
    tcp,
    await listen({ path: `\0${abstract}` }),
    await listen({ path: join(workspace, kSocketName) }),
    await listen({ path: join(outside, kSocketName) }),
  ];
  const udp = createSocket("udp4");
  udp.on("message", (_, from) => udp.send("hello", from.port, from.address));
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  const child = await startProcess();
  return {
    tcp: (tcp.address() as AddressInfo).port,
    udp: udp.address().port,
    abstract,
    process: child.pid ?? 0,
    close: async () => {
      udp.close();
      child.kill("SIGKILL");
      for (const server of servers) {
        server.close();
        await once(server, "close");
      }
    },
  };
}
