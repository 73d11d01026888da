/**
 * A host that has changed one constructor, to run its commands on many machines: compiled, never run, by
 * declarations.test.ts, where the peer is not installed.
 */

import type {
  NativeExecInput,
  NativeRunner,
  NativeSession,
  SandboxProcess,
} from "@openagentic/native-runner";
import {
  RemoteNativeRunner,
  type RemoteNativeRunnerOptions,
} from "@openagentic/native-runner/remote";

/** Of the package that this one replaces. */
interface OldRunner {
  exec(input: { argv: string[]; cwd?: string; stdin?: Uint8Array }): Promise<{
    exitCode: number;
    stdout: Uint8Array;
    audits?: { kind: "native.exec"; cmd: string; timedOut: boolean; signal?: string | null }[];
  }>;
}

const options: RemoteNativeRunnerOptions = {
  servers: ["nats://broker:4222"],
  pool: "p",
  workspace: "/w",
  credentials: { file: "/etc/tenant.creds" },
  network: undefined,
};
const runner = new RemoteNativeRunner(options);
export const asOld: OldRunner = runner;
export const asNew: NativeRunner = runner;
export const moved = new RemoteNativeRunner({ ...options, workspace: { directory: "/w" } });

export async function use(input: NativeExecInput, signal: AbortSignal): Promise<string> {
  const { outcome } = await runner.exec(input);
  if (outcome.kind === "lost") return `${outcome.started} ${outcome.ended} ${outcome.reason}`;
  if (outcome.kind === "queue-timeout") return outcome.reason;
  const session: NativeSession = await runner.openSession();
  const live: SandboxProcess = await runner.spawn({ argv: ["cat"], signal });
  await live.stop();
  await session.close();
  // @ts-expect-error: a caller can't give options to bwrap
  new RemoteNativeRunner({ ...options, extraArgs: ["--share-net"] });
  // @ts-expect-error: a workspace is a path or a directory
  new RemoteNativeRunner({ ...options, workspace: { path: "/w" } });
  const transaction = await runner.openTransaction();
  return (await transaction.commit()).committed.length.toString();
}
