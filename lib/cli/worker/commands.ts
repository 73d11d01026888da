/** The grammar of `native-runner worker`, of what operates and examines workers, and of `broker-config`. Parsing only. */

import { type Command, InvalidArgumentError, type OutputConfiguration } from "commander";

import { kMaxConfigBytes, readRegularFile } from "../../regular-file.js";
import type { BrokerOptions } from "../../remote/broker/broker-access.js";
import type { Operation } from "../../remote/operators.js";
import { isToken } from "../../remote/subjects.js";
import { type AuditOption, withAuditOption } from "../options.js";
import { CliError } from "../terminal.js";
import { count, directory, duration, file, finiteDuration, port, size } from "../values.js";
import type { BrokerConfigOptions } from "./broker-config.js";

/** Options as commander passes them. */
export type WorkerCliOptions = BrokerCliOptions &
  AuditOption & {
    pool: string;
    workspaces: string;
    name?: string;
    slots?: number;
    policy?: string;
    cache?: number;
    stdin?: number;
    drainTimeout?: number;
    idleTimeout?: number;
    metrics?: { host: string | undefined; port: number };
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

function metricsAddress(text: string): { host: string | undefined; port: number } {
  return text.includes(":") ? listen(text) : { host: undefined, port: port(text) };
}

/** Adds its options. */
export function addWorkerCommand(
  command: Command,
  action: (options: WorkerCliOptions) => Promise<void>,
): Command {
  return withBrokerOptions(
    withAuditOption(command)
      .usage("--server URL --pool NAME --workspaces DIR [options]")
      .description("run commands for callers on other machines, until SIGTERM")
      .requiredOption("--pool <name>", "the pool that it serves", token)
      .requiredOption("--workspaces <dir>", "below which callers' workspaces lie", directory)
      .option("--name <name>", "its name at the broker; default: this machine's", token)
      .option("--slots <n>", "runs at once; default: 4 for each processor, 8 at least", count)
      .option("--policy <file>", "the most that callers can ask for; default: the strict one", file)
      .option("--cache <size>", "most bytes of workspaces that callers send; default: 16G", room)
      .option("--stdin <size>", "most bytes of input of one exec; default: 64M", room)
      .option(
        "--drain-timeout <duration>",
        "for sessions and transactions that are open when it is to end; default: 9m",
        duration,
      )
      .option(
        "--idle-timeout <duration>",
        "for sessions and transactions in which nothing is done; default: 1h",
        duration,
      )
      .option(
        "--metrics <[host:]port>",
        "health and figures by HTTP; on 127.0.0.1 if no address is named",
        metricsAddress,
      ),
  )
    .addHelpText(
      "after",
      `
On SIGTERM or SIGINT it takes no more runs, and ends when those under way have ended; a second one
ends them. Sessions and transactions that are open go on, and are ended after --drain-timeout. Its
exit code is then 0.

Examples:
  $ native-runner worker --server tls://broker.example.org:4222 --credentials w1.nk \\
      --pool build --workspaces /srv/workspaces --policy /etc/native-runner/policy.json --metrics 9109
  $ native-runner worker --server nats://127.0.0.1:4222 --insecure --pool dev --workspaces ~/workspaces`,
    )
    .action((options: WorkerCliOptions) => action(options));
}

/** The grammar of `native-runner workers`. Parsing only. */

/** Options as commander passes them. */
export type WorkersCliOptions = BrokerCliOptions & {
  operator: string;
  wait: number;
  pool?: string;
  json?: boolean;
};

/** A worker as its operator names it. */
export type NamedWorker = { pool: string; name: string };

/** The implementations of the commands. */
export type WorkersActions = {
  workersList(options: WorkersCliOptions): Promise<void>;
  workersOperate(
    what: Operation,
    named: readonly NamedWorker[],
    options: WorkersCliOptions,
  ): Promise<void>;
};

const kWaitMs = { list: 1_000, operate: 5_000 };

const kOperations: Readonly<Record<Operation, string>> = {
  cordon: "have workers take no more runs; what they have goes on",
  uncordon: "have workers take runs again",
  drain: "end workers as SIGTERM does: after the runs that they have",
};

/** Adds the commands. `say`: returns how parse errors are written, by the command's name. */
export function addWorkersCommand(
  program: Command,
  actions: WorkersActions,
  say: (name: string) => OutputConfiguration,
): void {
  const workers = program
    .command("workers")
    .description("list, cordon and drain the workers of a broker, from any machine")
    .usage("list|cordon|uncordon|drain --server URL --credentials FILE [options] [POOL/NAME...]")
    .configureOutput(say("workers"))
    .addHelpText(
      "after",
      `
The key is an operator's: \`native-runner broker-config --operator NAME\` makes it.

Exit codes: 0 done; 2 misuse; ${kNoWorker} no such worker; 125 no broker, or it refuses the key.

Examples:
  $ native-runner workers list --server tls://broker.example.org:4222 --credentials operator.nk
  $ native-runner workers drain --server tls://broker.example.org:4222 --credentials operator.nk build/w1`,
    );
  const withOptions = (command: Command, waitMs: number) =>
    withBrokerOptions(command)
      .option("--operator <name>", "whose key it is", token, "operator")
      .option("--wait <duration>", "how long workers may take to answer", finiteDuration, waitMs)
      .option("--json", "print JSON instead")
      .configureOutput(say(`workers ${command.name()}`));
  withOptions(workers.command("list").description("the workers that answer"), kWaitMs.list)
    .option("--pool <name>", "those of this pool", token)
    .action(actions.workersList);
  for (const [what, description] of Object.entries(kOperations) as [Operation, string][]) {
    withOptions(workers.command(what).description(description), kWaitMs.operate)
      .argument("<worker...>", "POOL/NAME, as `list` shows them", worker)
      .action((named: NamedWorker[], options: WorkersCliOptions) =>
        actions.workersOperate(what, named, options),
      );
  }
}

/** The grammar of `native-runner doctor worker` and `doctor broker`. Parsing only. */

/** Options as commander passes them. */
export type DoctorWorkerOptions = BrokerCliOptions & {
  workspaces: string;
  policy?: string;
  pool?: string;
  name?: string;
  json?: boolean;
};
/** Options as commander passes them. At most one of `tenant`, `worker` and `operator`; `pool` is a tenant's. */
export type DoctorBrokerOptions = BrokerCliOptions & {
  tenant?: string;
  pool?: string;
  worker?: NamedWorker;
  operator?: string;
  json?: boolean;
};

/** The implementations of the commands. */
export type DoctorActions = {
  doctorWorker(options: DoctorWorkerOptions): Promise<void>;
  doctorBroker(options: DoctorBrokerOptions): Promise<void>;
};

/** Adds the commands below `doctor`. `say`: returns how parse errors are written, by the command's name. */
export function addDoctorCommands(
  doctor: Command,
  actions: DoctorActions,
  say: (name: string) => OutputConfiguration,
): void {
  withBrokerOptions(
    doctor
      .command("worker")
      .usage("--workspaces DIR [options]")
      .description(
        "whether a worker could serve here: policy, workspaces, a sandbox for each tenant",
      ),
  )
    .requiredOption("--workspaces <dir>", "below which callers' workspaces lie", directory)
    .option("--policy <file>", "the policy; default: the strict one", file)
    .option("--pool <name>", "with --server: the pool that its key is for", token)
    .option("--name <name>", "with --server: the name that its key is for", token)
    .option("--json", "print one JSON object instead")
    .configureOutput(say("doctor worker"))
    .action((options: DoctorWorkerOptions) => actions.doctorWorker(options));
  withBrokerOptions(
    doctor
      .command("broker")
      .usage("--server URL [options]")
      .description(
        "whether each server of a broker can be reached, and takes a key for its holder",
      ),
  )
    .option("--tenant <name>", "whose key it is: that of callers of a tenant", token)
    .option("--pool <name>", "with --tenant: a pool that they may use", token)
    .option(
      "--worker <pool/name>",
      "whose key it is: a worker's",
      (text: string) => worker(text)[0],
    )
    .option("--operator <name>", "whose key it is: an operator's", token)
    .option("--json", "print one JSON object instead")
    .configureOutput(say("doctor broker"))
    .hook("preAction", (self) => {
      const { tenant, worker, operator, pool } = self.opts<DoctorBrokerOptions>();
      const holders = [tenant, worker, operator].filter((each) => each !== undefined);
      if (holders.length > 1) self.error("error: one of --tenant, --worker and --operator");
      if (pool !== undefined && tenant === undefined)
        self.error("error: --pool means nothing without --tenant");
    })
    .action((options: DoctorBrokerOptions) => actions.doctorBroker(options));
}

/** The grammar of `native-runner broker-config`. Parsing only. */

/** Exit code where no worker of that name answers. */
export const kNoWorker = 120;

const kName = "of 1 to 64 letters, digits, hyphens and underscores";

function tenant(text: string, previous: string[] = []): string[] {
  const [name, pools, ...rest] = text.split("=");
  const arePools = pools === undefined || pools.split(",").every(isToken);
  if (isToken(name) && arePools && rest.length === 0) return [...previous, text];
  throw new InvalidArgumentError(`Expected NAME or NAME=POOL,POOL, each ${kName}.`);
}

const operators = (text: string, previous: string[] = []) => [...previous, token(text)];

function worker(text: string, previous: NamedWorker[] = []): NamedWorker[] {
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

/** Adds its options. */
export function addBrokerConfigCommand(
  command: Command,
  action: (options: BrokerConfigOptions) => Promise<void>,
): Command {
  return command
    .usage("[options]")
    .description("write the configuration of a NATS server for workers, and a key for each user")
    .requiredOption("-d, --directory <dir>", "where: nats.conf, and the keys below it", directory)
    .option(
      "--tenant <name[=pool,…]>",
      "whose callers may ask for runs, and where; repeatable",
      tenant,
    )
    .option("--worker <pool/name>", "a worker and the pool that it serves; repeatable", worker)
    .option(
      "--operator <name>",
      "who may list, cordon and drain workers (`native-runner workers`); repeatable",
      operators,
    )
    .option("--listen <host:port>", "where the server listens; default 0.0.0.0:4222", listen)
    .option("--tls-cert <file>", "the server's certificate, PEM", file)
    .option("--tls-key <file>", "its key, PEM", file)
    .option("--tls-ca <file>", "clients must have a certificate of this authority, too, PEM", file)
    .option("--insecure", "no TLS, and on 127.0.0.1 alone")
    .option(
      "--account-key <file>",
      "the seed of an account of the server's, or of its signing key: write credentials, and no nats.conf",
      file,
    )
    .option("--account <key>", "with --account-key, if it is a signing key: the account, A…")
    .option(
      "--expires <duration>",
      "with --account-key: for how long they are valid",
      finiteDuration,
    )
    .addHelpText(
      "after",
      `
Name all tenants, workers and operators each time: whoever is left out can't connect any more. Keys that are
there already are kept. Each file of a key is for --credentials of one worker or operator, or for
the callers of one tenant; the server has none of them.

Examples:
  $ native-runner broker-config -d /etc/native-runner/broker --tls-cert broker.pem --tls-key broker.key \\
      --tenant ci --tenant agents=build --worker build/w1 --worker gpu/w2 --operator ops`,
    )
    .action((options: BrokerConfigOptions) => action(options));
}

/** The options of a command that connects to a broker: its address and the credentials. None is a secret. */

/** Options as commander passes them. */
export type BrokerCliOptions = {
  server?: string[];
  credentials?: string;
  tlsCa?: string;
  tlsCert?: string;
  tlsKey?: string;
  insecure?: boolean;
};

const more = (text: string, previous: string[] = []) => [...previous, text];

/** Adds the options. */
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

/**
 * Returns the options of a BrokerAccess, which checks them. @throws (rejects) CliError for an unreadable
 * file.
 */
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
