/** The thread that works on the files of workspaces: takes calls, one message each, and answers them. */

import { type MessagePort, parentPort } from "node:worker_threads";

import { Exchange } from "../exchange.js";
import { CallerMethods } from "./caller-methods.js";
import { ChannelPort } from "./channel.js";
import { Kept } from "./kept.js";
import { WorkerMethods } from "./worker-methods.js";

/** A call; what its arguments say of an exchange is the number of one that was opened. */
type Call = {
  id: number;
  room: "caller" | "worker";
  method: string;
  args: Record<string, unknown>;
};
type Method = (args: Record<string, unknown>) => unknown;

const rooms = { caller: new CallerMethods(), worker: new WorkerMethods() };
const exchanges = new Kept<{ exchange: Exchange; channel: MessagePort }>();

const own: Record<string, Method> = {
  openExchange: ({ channel }) => {
    const port = channel as MessagePort;
    return exchanges.add({ exchange: new Exchange(new ChannelPort(port)), channel: port });
  },
  closeExchange: ({ exchange }) => {
    exchanges.take(exchange as number).channel.close();
  },
};

async function answerOf({ room, method, args }: Call): Promise<unknown> {
  const mine = own[method];
  if (mine) return mine(args);
  const methods = rooms[room] as unknown as Record<string, Method>;
  const isOpened = typeof args.exchange === "number";
  const exchange = isOpened ? exchanges.get(args.exchange as number).exchange : undefined;
  return methods[method]?.({ ...args, ...(exchange && { exchange }) });
}

/** What is left of an error on the other side of the border. */
function plain(error: unknown): Record<string, unknown> {
  const { name, message, code, path, fix } = error as Record<string, unknown>;
  return { name, message: message ?? String(error), code, path, fix };
}

parentPort?.on("message", (call: Call) => {
  answerOf(call).then(
    (value) => parentPort?.postMessage({ id: call.id, value }),
    (error: unknown) => parentPort?.postMessage({ id: call.id, error: plain(error) }),
  );
});
