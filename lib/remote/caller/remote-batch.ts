import type { NativeExecInput, SandboxedExecResult } from "../../../types/public.js";
import type { BatchOptions } from "../../../types/session.js";
import { invalidType, invalidValue, withResults } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { checkSignal, onAbort } from "../../runners/abort.js";
import { resultWith, withReason } from "../../runners/result.js";
import { errorOf } from "../wire/errors.js";
import { toPlain } from "../wire/plain.js";
import { OutputCollector } from "./collector.js";
import type { RemotePlace } from "./remote-place.js";
import { execInputOf, type ToldResult } from "./request-of.js";

const kOptions: FieldsOf<BatchOptions> = {
  stopOnError: true,
  shell: true,
  tmpBytes: true,
  signal: true,
};

/** Of the commands that have input: all of it is sent as one. */
type Inputs = { lengths: (number | null)[]; whole: Uint8Array | undefined };

type Told = ToldResult & { lengths: [number, number] };

function inputOf(command: NativeExecInput | string[]) {
  const isInput = typeof command === "object" && command !== null && !Array.isArray(command);
  const { input, stdin, ...rest } = execInputOf(isInput ? command : { argv: command });
  const { signal, onStdout, onStderr } = rest;
  checkSignal(signal);
  const name = Object.entries({ signal, onStdout, onStderr }).find(([, value]) => value)?.[0];
  if (name === undefined) return { input: input as { argv: string[] }, stdin };
  throw invalidValue(`\`${name}\` can't be given to a command of a remote batch`);
}

function together(all: readonly (Uint8Array | undefined)[]): Inputs {
  const given = all.filter((each) => each !== undefined);
  return {
    lengths: all.map((each) => each?.length ?? null),
    whole: given.length === 0 ? undefined : Buffer.concat(given),
  };
}

/** All commands in one sandbox of one worker: one grant, and one end with all results. */
export async function remoteBatch(
  place: RemotePlace,
  commands: readonly (NativeExecInput | string[])[],
  given: BatchOptions,
): Promise<SandboxedExecResult[]> {
  if (!Array.isArray(commands)) throw invalidType("commands", "an array", commands);
  expectFields(given, "options", kOptions);
  const { signal, ...options } = given;
  const abort = checkSignal(signal);
  const asked = commands.map(inputOf);
  const inputs = asked.map(({ input }) => input);
  const { lengths, whole } = together(asked.map(({ stdin }) => stdin));
  const collector = new OutputCollector(place.credit, {
    taken: (stream, bytes) => place.caller.tell(run, { t: "credit", stream, bytes }),
  });
  const begun = performance.now();
  const input = { commands: inputs, options: toPlain({ ...options }, "options"), lengths };
  const run = place.begin(
    "batch",
    { input, stdin: whole },
    { out: (stream, bytes) => collector.add(stream, bytes) },
  );
  const unsubscribe = onAbort(abort, () => place.caller.abort(run));
  try {
    const end = await place.ended(run);
    const waitedMs = run.grantedAt - begun;
    if (end.kind === "failed") throw end.error;
    if (end.kind !== "ended") {
      return inputs.map(({ argv }) => withReason(place.untold(end, argv, waitedMs), abort));
    }
    const output = collector.whole(1, end.rest[0]);
    let at = 0;
    const next = (length: number) => {
      at += length;
      return output.slice(at - length, at);
    };
    const made = (told: Told) => resultWith(told, next(told.lengths[0]), next(told.lengths[1]));
    if (end.error !== undefined) {
      const { results = [] } = (end.value ?? {}) as { results?: Told[] };
      throw withResults(errorOf(end.error), results.map(made));
    }
    return (end.value as Told[]).map((told) => withReason(made(told), abort));
  } finally {
    unsubscribe();
  }
}
