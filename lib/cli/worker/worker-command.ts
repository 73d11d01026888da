/** The grammar of `native-runner worker`. Parsing only. */

import { type Command, InvalidArgumentError } from "commander";

import { isToken } from "../../remote/token.js";
import { type BrokerCliOptions, withBrokerOptions } from "../broker/broker-options.js";
import { count, directory, file, port, size } from "../values/option-values.js";

/** As commander hands them over. */
export type WorkerCliOptions = BrokerCliOptions & {
  pool: string;
  workspaces: string;
  name?: string;
  slots?: number;
  policy?: string;
  cache?: number;
  metrics?: number;
};

function token(text: string): string {
  if (isToken(text)) return text;
  throw new InvalidArgumentError("Expected 1 to 64 letters, digits, hyphens and underscores.");
}

function room(text: string): number {
  const bytes = size(text);
  if (bytes > 0) return bytes;
  throw new InvalidArgumentError("Expected a size above 0.");
}

/** Adds what it takes. */
export function addWorkerCommand(
  command: Command,
  action: (options: WorkerCliOptions) => Promise<void>,
): Command {
  return withBrokerOptions(
    command
      .usage("--server URL --pool NAME --workspaces DIR [options]")
      .description("run commands for callers on other machines, until SIGTERM")
      .requiredOption("--pool <name>", "the pool that it serves", token)
      .requiredOption("--workspaces <dir>", "below which callers' workspaces lie", directory)
      .option("--name <name>", "its name at the broker; default: this machine's", token)
      .option("--slots <n>", "runs at once; default: 4 for each processor, 8 at least", count)
      .option("--policy <file>", "the most that callers can ask for; default: the strict one", file)
      .option("--cache <size>", "most bytes of workspaces that callers send; default: 16G", room)
      .option("--metrics <port>", "health and figures by HTTP on 127.0.0.1", port),
  )
    .addHelpText(
      "after",
      `
On SIGTERM or SIGINT it takes no more runs, and ends when those under way have ended; a second one
ends them. Its exit code is then 0.

Examples:
  $ native-runner worker --server tls://broker.example.org:4222 --credentials w1.nk \\
      --pool build --workspaces /srv/workspaces --policy /etc/native-runner/policy.json --metrics 9109
  $ native-runner worker --server nats://127.0.0.1:4222 --insecure --pool dev --workspaces ~/workspaces`,
    )
    .action((options: WorkerCliOptions) => action(options));
}
