/** A caller's directory and a worker's cache in one process, and runs that go from the one to the other. */

import { execFileSync } from "node:child_process";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach } from "vitest";

import {
  MovedWorkspace,
  type MovedWorkspaceOptions,
} from "../../../../lib/remote/workspace/moved-workspace.js";
import { WorkerWorkspaces } from "../../../../lib/remote/workspace/worker-workspaces.js";
import { type PortPair, portPair } from "../../../support/remote/port-pair.js";
import {
  BubblewrapNativeRunner,
  type CommitReport,
  type SandboxedExecResult,
} from "../../support/package.js";
import { tempDirectory } from "../../support/temp.js";

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close().catch(() => {}); // some are closed
});

export type Place = {
  directory: string;
  root: string;
  workspace: MovedWorkspace;
  worker: WorkerWorkspaces;
};

export type Ended = {
  result?: SandboxedExecResult;
  report?: CommitReport | undefined;
  /** What the caller's side rejected with. */
  error?: unknown;
  /** What the worker's side rejected with. */
  workerError?: unknown;
  /** Whether the worker was told that the caller has the changes. */
  committed?: boolean;
};

export async function openPlace(
  directory = tempDirectory(),
  options: Partial<MovedWorkspaceOptions> & { cacheBytes?: number; root?: string } = {},
): Promise<Place> {
  const { cacheBytes, root = tempDirectory("cache"), ...own } = options;
  const transactions = tempDirectory("state");
  const workspace = new MovedWorkspace({ directory, transactions, ...own });
  const bounds = cacheBytes === undefined ? {} : { maxBytes: cacheBytes };
  const worker = await WorkerWorkspaces.open(root, bounds);
  opened.push(worker, workspace);
  return { directory, root, workspace, worker };
}

type Run = {
  script: string;
  tenant?: string;
  ports?: PortPair;
  /** Called when the command has ended, before anything comes back. */
  meanwhile?: () => unknown;
};

/** One run there and back, as a caller and a worker would do it. */
export async function run(
  place: Place,
  { script, tenant = "t", meanwhile, ...rest }: Run,
): Promise<Ended> {
  const ports = rest.ports ?? portPair();
  const { caller, worker } = ports;
  const ended: Ended = {};
  const atWorker = async () => {
    const visit = await place.worker.accept(tenant, worker);
    const runner = new BubblewrapNativeRunner({ shadowDir: visit.directory, prewarm: 0 });
    try {
      const transaction = await runner.openTransaction({ directory: visit.transactions });
      ended.result = await transaction.exec({ argv: ["/bin/sh", "-c", script] });
      await meanwhile?.();
      ended.committed = (await visit.settle(transaction)).committed;
    } finally {
      await runner.close();
    }
  };
  const atCaller = async () => {
    const brought = await place.workspace.bring(caller);
    ended.report = await brought.take();
  };
  const keep = (name: "error" | "workerError") => (error: unknown) => {
    ended[name] = error;
    ports.cut();
  };
  await Promise.all([atWorker().catch(keep("workerError")), atCaller().catch(keep("error"))]);
  return ended;
}

/** Types, modes, targets and contents of all that a directory holds, without times and owners. */
export function shapeOf(directory: string): Record<string, string> {
  const shape: Record<string, string> = {};
  const look = (path: string) => {
    const full = join(directory, path);
    const status = lstatSync(full);
    const mode = (status.mode & 0o777).toString(8);
    if (status.isSymbolicLink()) shape[path] = `-> ${readlinkSync(full)}`;
    else if (status.isFile()) shape[path] = `${mode} ${readFileSync(full).toString("base64")}`;
    else shape[path] = `${mode}${status.isDirectory() ? "/" : "?"}`;
    if (status.isDirectory()) for (const name of readdirSync(full)) look(join(path, name));
  };
  look(".");
  return shape;
}

/** A copy of a directory, with all that is in it as it is. */
export function copyOf(directory: string): string {
  const copy = tempDirectory("copy");
  execFileSync("cp", ["-a", `${directory}/.`, copy]);
  return copy;
}
