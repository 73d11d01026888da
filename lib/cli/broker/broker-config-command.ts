/** The grammar of `native-runner broker-config`. Parsing only. */

import { type Command, InvalidArgumentError } from "commander";

import { isToken } from "../../remote/token.js";
import { directory, file, port } from "../values/option-values.js";
import type { BrokerConfigOptions } from "./broker-config.js";

const kName = "of 1 to 64 letters, digits, hyphens and underscores";

function tenant(text: string, previous: string[] = []): string[] {
  if (isToken(text)) return [...previous, text];
  throw new InvalidArgumentError(`Expected a name ${kName}.`);
}

type Worker = { pool: string; name: string };

function worker(text: string, previous: Worker[] = []): Worker[] {
  const [pool, name, ...rest] = text.split("/");
  if (isToken(pool) && isToken(name) && rest.length === 0) return [...previous, { pool, name }];
  throw new InvalidArgumentError(`Expected POOL/NAME, each ${kName}.`);
}

function listen(text: string): { host: string; port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || digits === undefined) {
    throw new InvalidArgumentError("Expected HOST:PORT or [ADDRESS]:PORT.");
  }
  return { host, port: port(digits) };
}

/** Adds what it takes. */
export function addBrokerConfigCommand(
  command: Command,
  action: (options: BrokerConfigOptions) => Promise<void>,
): Command {
  return command
    .usage("[options]")
    .description("write the configuration of a NATS server for workers, and a key for each user")
    .requiredOption("-d, --directory <dir>", "where: nats.conf, and the keys below it", directory)
    .option("--tenant <name>", "whose callers may ask for runs; repeatable", tenant)
    .option("--worker <pool/name>", "a worker and the pool that it serves; repeatable", worker)
    .option("--listen <host:port>", "where the server listens; default 0.0.0.0:4222", listen)
    .option("--tls-cert <file>", "the server's certificate, PEM", file)
    .option("--tls-key <file>", "its key, PEM", file)
    .option("--tls-ca <file>", "clients must have a certificate of this authority, too, PEM", file)
    .option("--insecure", "no TLS, and on 127.0.0.1 alone")
    .addHelpText(
      "after",
      `
Name all tenants and workers each time: whoever is left out can't connect any more. Keys that are
there already are kept. Each file of a key is for --credentials of one worker, or for the callers
of one tenant; the server has none of them.

Examples:
  $ native-runner broker-config -d /etc/native-runner/broker --tls-cert broker.pem --tls-key broker.key \\
      --tenant ci --tenant agents --worker build/w1 --worker build/w2`,
    )
    .action((options: BrokerConfigOptions) => action(options));
}
