/** The options of a command that connects to a broker: where, and as whom. No secret is one of them. */

import type { Command } from "commander";

import { kMaxConfigBytes, readRegularFile } from "../../regular-file.js";
import type { BrokerOptions } from "../../remote/broker/broker-access.js";
import { CliError } from "../terminal.js";
import { file } from "../values/option-values.js";

/** As commander hands them over. */
export type BrokerCliOptions = {
  server?: string[];
  credentials?: string;
  tlsCa?: string;
  tlsCert?: string;
  tlsKey?: string;
  insecure?: boolean;
};

const more = (text: string, previous: string[] = []) => [...previous, text];

/** Adds them. */
export function withBrokerOptions(command: Command): Command {
  return command
    .option(
      "--server <url>",
      "the broker: tls://HOST:PORT, or nats://127.0.0.1:PORT; repeatable",
      more,
    )
    .option("--credentials <file>", "an nkey's seed, as of broker-config, or a .creds file", file)
    .option(
      "--tls-ca <file>",
      "authorities that may have signed the broker's certificate, PEM",
      file,
    )
    .option("--tls-cert <file>", "a certificate of one's own, PEM", file)
    .option("--tls-key <file>", "its key, PEM", file)
    .option("--insecure", "no TLS and no credentials: for a broker of this machine alone");
}

async function pem(option: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const bytes = await readRegularFile(path, kMaxConfigBytes).catch((cause: Error) => {
    throw new CliError(`${option} ${path} can't be read: ${cause.message}`, 2);
  });
  return bytes.toString("utf8");
}

/** What a BrokerAccess takes, which checks it. @throws (rejects) CliError for a file that can't be read. */
export async function brokerOptions(options: BrokerCliOptions): Promise<BrokerOptions> {
  const ca = await pem("--tls-ca", options.tlsCa);
  const cert = await pem("--tls-cert", options.tlsCert);
  const key = await pem("--tls-key", options.tlsKey);
  return {
    servers: options.server ?? [],
    ...(options.credentials !== undefined && { credentials: { file: options.credentials } }),
    ...((ca ?? cert ?? key) !== undefined && { tls: { ca, cert, key } }),
    ...(options.insecure && { insecure: true }),
  };
}
