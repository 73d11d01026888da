// A batch, whose commands are calls that begin together and settle together.
import { callStarter, endOf } from "../calls/call.mjs";
import { makePlan } from "../calls/plan.mjs";
import { kPatienceMs } from "../limits.mjs";

const kMost = 5;

/** Whether a command that ends as it should ends a batch that stops on errors; undefined: unknown. */
function fails({ expected, timeoutMs, abortAfterMs, endless }) {
  if (endless || timeoutMs < kPatienceMs || abortAfterMs !== undefined) return undefined;
  if (expected.length !== 1) return undefined;
  return expected[0].kind !== "exited" || expected[0].exitCode !== 0;
}

/** What is to be expected of each under stopOnError: nothing of those after the first that fails. */
function expectStops(plans) {
  let isOver = false; // true, false, or undefined where it depends
  return plans.map((plan) => {
    const before = isOver;
    const failed = fails(plan);
    if (before !== true && failed !== false) isOver = failed;
    const none = { kind: "aborted", exitCode: 130 };
    if (before === true) return { ...plan, expected: [none], output: "", bytes: 0 };
    if (before === undefined)
      return { ...plan, expected: [...plan.expected, none], output: undefined, bytes: undefined };
    return plan;
  });
}

export const batch = {
  name: "batch",
  weight: 6,
  async run(context) {
    const { random, runners } = context;
    const slot = runners.pickWith(random, "execBatch");
    if (slot.kind === "compat") return; // as for sessions
    const facts = { generation: slot.workspace.generation };
    const stopOnError = random.chance(0.5);
    const abortAfterMs = random.chance(0.25) ? random.int(0, 150) : undefined;
    const ids = Array.from({ length: random.int(0, kMost) }, () => context.nextCall());
    const made = ids.map((id) => {
      const token = context.tokenOf(id, { kind: "session" });
      const { abortAfterMs: _own, ...plan } = makePlan(random, token, facts);
      const timeoutMs = plan.endless ? random.int(1, 300) : plan.timeoutMs;
      return { ...plan, timeoutMs, abortAfterMs, throws: false, streams: false };
    });
    const plans = stopOnError ? expectStops(made) : made;
    const controller = new AbortController();
    const calls = plans.map((plan, i) =>
      callStarter(context, ids[i], { ...slot, kind: "batch" }, plan, {
        inBatch: true,
        stopOnError,
      }),
    );
    const inputs = plans.map(({ input, timeoutMs }) => ({
      ...input,
      limits: { ...input.limits, timeoutMs },
    }));
    const running = slot.runner.execBatch(inputs, { stopOnError, signal: controller.signal });
    const timer =
      abortAfterMs === undefined ? undefined : setTimeout(() => controller.abort(), abortAfterMs);
    const ends = await running.then(
      (results) => results.map((result, i) => endOf(plans[i] ?? {}, result)),
      (error) =>
        plans.map(() => ({ rejected: error.code ?? error.message, message: error.message })),
    );
    clearTimeout(timer);
    for (const [i, end] of ends.entries()) calls[i](end); // more results than commands: throws
  },
};
