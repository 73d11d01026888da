/**
 * `native-runner doctor worker` and `doctor broker`: whether a worker could serve here, and whether a broker takes a key.
 * Serves nothing, and runs no caller's command.
 */

import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import pc from "picocolors";

import { BrokerAccess } from "../../remote/broker/broker-access.js";
import { Connection, loadNats, type Nats, refusal, unfit } from "../../remote/broker/connection.js";
import {
  callerRefusal,
  operatorRefusal,
  type Refused,
  workerRefusal,
} from "../../remote/broker/refused.js";
import { deferred } from "../../remote/deferred.js";
import { defaultWorkerPolicy, loadWorkerPolicy } from "../../remote/policy/worker-policy.js";
import { Workspaces } from "../../remote/policy/workspace-place.js";
import {
  callerSubject,
  fromWorkerSubject,
  operateSubject,
  operatorSubject,
  workerSubject,
} from "../../remote/subjects.js";
import { PolicyPlaces, tenantsText } from "../../remote/worker/policy-places.js";
import { visibleText } from "../../text.js";
import { wantsColors } from "../terminal.js";
import {
  type BrokerCliOptions,
  brokerOptions,
  type DoctorBrokerOptions,
  type DoctorWorkerOptions,
} from "./commands.js";

/** What was looked at, and what is wrong with it. */
export type Check = { name: string; ok: boolean; detail: string; fix?: string };

const kConnectMs = 5_000;

async function check(name: string, work: () => Promise<string>): Promise<Check> {
  try {
    return { name, ok: true, detail: await work() };
  } catch (error) {
    const { message, fix } = error as Error & { fix?: string };
    return { name, ok: false, detail: message, ...(fix !== undefined && { fix }) };
  }
}

/** Adds a fix to an error that has none. */
function withFix(cause: unknown, fix: string): Error {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  return Object.assign(error, { fix: (error as { fix?: string }).fix ?? fix });
}

/** Whose key is looked at. */
type Holder = Pick<DoctorBrokerOptions, "tenant" | "operator" | "worker" | "pool">;

/** Returns what a holder has to be allowed, with names that no caller and no worker has, and whose it is. */
function needsOf({ tenant, operator, worker, pool = "doctor" }: Holder) {
  const nobody = "doctor.doctor";
  if (worker !== undefined) {
    const { pool: of, name } = worker;
    return {
      whose: `the worker ${of}/${name}`,
      subscribe: workerSubject(of, `${name}.*`, "*"),
      publish: fromWorkerSubject("doctor", "doctor", of, `${name}.doctor`),
      refused: (refused: Refused) => workerRefusal(refused, worker),
    };
  }
  if (operator !== undefined) {
    return {
      whose: `the operator ${operator}`,
      subscribe: `${operatorSubject(operator)}.>`,
      publish: operateSubject("doctor", "doctor", operator),
      refused: (refused: Refused) => operatorRefusal(refused, operator),
    };
  }
  if (tenant === undefined) return undefined;
  return {
    whose: `callers of the tenant ${tenant}${pool === "doctor" ? "" : ` in the pool ${pool}`}`,
    subscribe: callerSubject(tenant, ">"),
    publish: workerSubject(pool, nobody, tenant),
    refused: (refused: Refused) => callerRefusal(refused, tenant).error,
  };
}

async function tryServer(access: BrokerAccess, nats: Nats, url: string): Promise<string> {
  const options = await access.connectionOptions(nats);
  const start = performance.now();
  const once = { servers: [url], reconnect: false, timeout: kConnectMs, noAsyncTraces: true };
  const connection = await nats.connect({ ...options, ...once }).catch((cause: unknown) => {
    const { message } = cause as Error;
    if (/Authorization|Authentication/.test(String((cause as Error).name))) throw refusal(cause);
    if (/certificate|self-signed|altnames/i.test(message))
      throw withFix(cause, "--tls-ca names the authority that has signed the broker's certificate");
    throw withFix(cause, "start the broker, or check --server and the firewall between");
  });
  const ms = performance.now() - start;
  try {
    const fault = unfit(connection);
    if (fault !== undefined) throw fault;
    return `NATS ${connection.info?.version}, connected in ${ms.toFixed(1)} ms`;
  } finally {
    await connection.close();
  }
}

/** @throws (rejects) the error of a worker, an operator or a caller with such a key */
async function tryKey(access: BrokerAccess, holder: Holder): Promise<string> {
  const needs = needsOf(holder);
  if (needs === undefined) return "taken; --tenant, --worker or --operator looks whose it is";
  const connection = new Connection(access);
  const failed = deferred<never>();
  connection.listen({
    failed: (error) => failed.reject(error),
    refused: (refused) => failed.reject(needs.refused(refused)),
  });
  connection.hold();
  try {
    await Promise.race([connection.open(), failed.promise]);
    connection.subscribe(needs.subscribe, () => {});
    connection.publish(needs.publish, new Uint8Array(0));
    await Promise.race([connection.settled(), failed.promise]);
    await Promise.race([connection.settled(), failed.promise]); // refusals are behind the first answer at the latest
    return `that of ${needs.whose}`;
  } finally {
    await connection.close();
    connection.release();
  }
}

async function brokerChecks(options: BrokerCliOptions, holder: Holder): Promise<Check[]> {
  let access: BrokerAccess | undefined;
  const checks = [
    await check("options", async () => {
      access = new BrokerAccess(await brokerOptions(options));
      return access.insecure ? "no TLS and no key: this machine alone" : "TLS and a key";
    }),
  ];
  if (access === undefined) return checks;
  const { servers } = access;
  let nats: Nats | undefined;
  const client = await check("client", async () => {
    nats = await loadNats();
    return "@nats-io/transport-node";
  });
  if (nats === undefined) return [...checks, client];
  for (const { url } of servers) {
    const own = nats;
    const by = access;
    checks.push(await check(url, () => tryServer(by, own, url)));
  }
  // Without a server it would be tried for ever.
  const isThere = checks.slice(1).some(({ ok }) => ok);
  const by = access;
  if (isThere && !access.insecure) checks.push(await check("key", () => tryKey(by, holder)));
  return checks;
}

async function workerChecks(options: DoctorWorkerOptions): Promise<Check[]> {
  const { policy: file, workspaces: directory, credentials, tlsKey } = options;
  let policy = defaultWorkerPolicy();
  const checks = [
    await check("policy", async () => {
      if (file !== undefined) policy = await loadWorkerPolicy(file);
      const { size } = policy.tenants;
      return `${file ?? "the strict default"}${size === 0 ? "" : `, with ${size} tenants`}`;
    }),
    await check("workspaces", async () => {
      const found = await stat(directory).catch((cause) => {
        throw withFix(cause, `mkdir -p ${directory}, or name another with --workspaces`);
      });
      if (!found.isDirectory()) throw new Error(`${directory} is no directory`);
      await access(directory, constants.R_OK | constants.W_OK | constants.X_OK).catch((cause) => {
        throw withFix(cause, `give it to this user: chown "$USER" ${directory}`);
      });
      return directory;
    }),
  ];
  if (checks.some(({ ok }) => !ok)) return checks;
  let places: PolicyPlaces | undefined;
  const secrets = [credentials, tlsKey].filter((each) => each !== undefined);
  const own = await check("secrets", async () => {
    const place = { slots: 1, name: "doctor", pool: "doctor", secrets };
    places = new PolicyPlaces(policy, new Workspaces(directory), place);
    return secrets.length === 0 ? "none" : "masked in every sandbox";
  });
  checks.push(own);
  if (places === undefined) return checks;
  try {
    for (const { tenants, ms, error } of await places.canaries()) {
      const of = tenants.length === 0 ? "sandbox" : `sandbox for ${tenantsText(tenants)}`;
      const made = async () => {
        if (error === undefined) return `made in ${ms.toFixed(1)} ms`;
        throw withFix(error, "`native-runner doctor` tells what this machine lacks");
      };
      checks.push(await check(of, made));
    }
  } finally {
    await places.close();
  }
  return checks;
}

/** Returns the checks, one a line, each that fails with its fix. Pure. */
export function checksText(checks: readonly Check[], useColors: boolean): string {
  const colors = pc.createColors(useColors);
  const width = Math.max(...checks.map(({ name }) => name.length));
  const indent = (text: string) => visibleText(text).split("\n").join("\n      ");
  const lines = checks.flatMap(({ name, ok, detail, fix }) => [
    `${ok ? colors.green("ok  ") : colors.red("fail")}  ${name.padEnd(width)}  ${indent(detail)}`,
    ...(fix === undefined ? [] : [`      fix: ${indent(fix)}`]),
  ]);
  return `${lines.join("\n")}\n`;
}

function print(checks: readonly Check[], isJson: boolean): void {
  const ok = checks.every((each) => each.ok);
  const text = isJson
    ? `${JSON.stringify({ ok, checks }, null, 2)}\n`
    : checksText(checks, wantsColors(process.stdout));
  process.stdout.write(text);
  process.exitCode ??= ok ? 0 : 1;
}

/** Runs `doctor worker`. */
export async function doctorWorker(options: DoctorWorkerOptions): Promise<void> {
  const { server, pool, name, json = false } = options;
  const worker = pool === undefined || name === undefined ? undefined : { pool, name };
  const broker =
    server === undefined ? [] : await brokerChecks(options, worker === undefined ? {} : { worker });
  print([...(await workerChecks(options)), ...broker], json);
}

/** Runs `doctor broker`. */
export async function doctorBroker(options: DoctorBrokerOptions): Promise<void> {
  print(await brokerChecks(options, options), options.json ?? false);
}
