/** `native-runner workers`: what an operator does to the workers of a broker, from any machine. */

import Table from "cli-table3";
import pc from "picocolors";

import { BrokerAccess } from "../../remote/broker/broker-access.js";
import { Connection } from "../../remote/broker/connection.js";
import { operatorRefusal } from "../../remote/broker/refused.js";
import { deferred } from "../../remote/deferred.js";
import { type ListedWorker, type Operation, Operator } from "../../remote/operators.js";
import { visibleLine } from "../../text.js";
import { CliError, wantsColors } from "../terminal.js";
import { age } from "../transactions/tx.js";
import { formatDuration } from "../values.js";
import { brokerOptions, kNoWorker, type NamedWorker, type WorkersCliOptions } from "./commands.js";

/** A broker that does not answer so soon is not there, for somebody who waits. */
const kConnectMs = 10_000;

/** Calls `use` with the operator's end of a connection, which is closed afterwards. */
async function operate<Value>(
  options: WorkersCliOptions,
  use: (operator: Operator) => Promise<Value>,
): Promise<Value> {
  const access = new BrokerAccess(await brokerOptions(options));
  const connection = new Connection(access);
  const failed = deferred<never>();
  connection.listen({
    failed: (error) => failed.reject(error),
    refused: (refused) => failed.reject(operatorRefusal(refused, options.operator)),
  });
  connection.hold();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const servers = access.servers.map(({ url }) => url).join(", ");
    const error = new CliError(`no broker answers at ${servers}`, 125, "check --server");
    timer = setTimeout(() => reject(error), kConnectMs);
  });
  try {
    await Promise.race([connection.open(), failed.promise, late]);
    return await Promise.race([use(new Operator(connection, options.operator)), failed.promise]);
  } finally {
    clearTimeout(timer);
    await connection.close();
    connection.release();
  }
}

/** Returns one word for what a worker is about, and why if it can make no sandbox. */
function stateOf({ isDraining, isCordoned, unfit }: ListedWorker): string {
  if (isDraining) return "draining";
  if (isCordoned) return "cordoned";
  return unfit === undefined ? "ready" : `unfit: ${visibleLine(unfit)}`;
}

/** Characters of a table without lines, its columns two spaces apart. */
const kNoLines = Object.fromEntries(
  "top,top-mid,top-left,top-right,bottom,bottom-mid,bottom-left,bottom-right,left,left-mid,mid,mid-mid,right,right-mid"
    .split(",")
    .map((name) => [name, ""]),
);

/** Returns the workers as a table, one a line; the state, which may be long, comes last. Pure. */
export function workersText(workers: readonly ListedWorker[], useColors: boolean): string {
  if (workers.length === 0) return "no workers\n";
  const colors = pc.createColors(useColors);
  const table = new Table({
    head: ["WORKER", "SLOTS", "RUNS", "WAITING", "STARTS", "UP", "VERSION", "STATE"].map(
      colors.bold,
    ),
    colAligns: ["left", "right", "right", "right", "right", "right", "left", "left"],
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    chars: { ...kNoLines, middle: "  " },
  });
  for (const each of workers) {
    const state = stateOf(each);
    table.push([
      `${each.pool}/${each.name}`,
      ...[each.slots, each.running, each.waiting, each.starts].map(String),
      age(each.uptime * 1_000).replace(" ago", ""),
      visibleLine(each.version),
      state === "ready" ? state : colors.yellow(state),
    ]);
  }
  const lines = table.toString().split("\n");
  return `${lines.map((line) => line.trimEnd()).join("\n")}\n`;
}

const print = (text: string) => void process.stdout.write(text);
const printJson = (value: unknown) => print(`${JSON.stringify(value, null, 2)}\n`);

/** Runs `workers list`. */
export async function workersList(options: WorkersCliOptions): Promise<void> {
  const found = await operate(options, (operator) => operator.list(options.wait, options.pool));
  if (options.json) printJson(found);
  else print(workersText(found, wantsColors(process.stdout)));
}

/**
 * Runs `workers cordon`, `uncordon` or `drain`, one worker after the other.
 * @throws (rejects) CliError at the first that does not answer, which names those that have done it
 */
export async function workersOperate(
  what: Operation,
  named: readonly NamedWorker[],
  options: WorkersCliOptions,
): Promise<void> {
  const done: ListedWorker[] = [];
  const nameOf = ({ pool, name }: NamedWorker) => `${pool}/${name}`;
  const failure = (why: string, fix?: string) => {
    const before = done.length === 0 ? "" : `; done before it: ${done.map(nameOf).join(", ")}`;
    return new CliError(`${why}${before}`, kNoWorker, fix);
  };
  await operate(options, async (operator) => {
    for (const worker of named) {
      const answer = await operator.operate(worker, what, options.wait);
      if (answer === "nobody") {
        const fix = "`native-runner workers list` shows the names";
        throw failure(`no worker ${nameOf(worker)} is connected to the broker`, fix);
      }
      if (answer === "silence") {
        const within = `within ${formatDuration(options.wait)}`;
        throw failure(`the worker ${nameOf(worker)} has not answered ${within}; it may do it yet`);
      }
      done.push(answer);
    }
  });
  if (options.json) printJson(done);
  else print(workersText(done, wantsColors(process.stdout)));
}
