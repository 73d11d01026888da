/** How a transaction of a worker is named elsewhere: by its id there, and the worker that has it. Pure. */

import { invalidType, invalidValue } from "../../../errors.js";
import { isToken } from "../../token.js";

const kId = /^[0-9a-f]{12}$/;

/** The name of a worker, which its next process has too. */
export const nameOfWorker = (worker: string) => worker.slice(0, worker.indexOf("."));

export const remoteId = (id: string, worker: string) => `${id}@${nameOfWorker(worker)}`;

/** @throws TypeError for what is none */
export function parseRemoteId(given: unknown): { id: string; name: string } {
  if (typeof given !== "string") throw invalidType("id", "a string", given);
  const at = given.indexOf("@");
  const id = given.slice(0, Math.max(at, 0));
  const name = given.slice(at + 1);
  if (kId.test(id) && isToken(name)) return { id, name };
  const shown = JSON.stringify(given.slice(0, 100));
  throw invalidValue(
    `Expected \`id\` to be that of a remote transaction, "ID@WORKER", got ${shown}`,
  );
}
