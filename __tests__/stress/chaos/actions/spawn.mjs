// A live process on any runner that has them.
import { makeLiveCall } from "../calls/live-call.mjs";
import { makeLivePlan } from "../calls/plan.mjs";

/** `method`: "spawn" of a runner, "start" of a session. */
export async function liveOn(context, slot, method) {
  const id = context.nextCall();
  const plan = makeLivePlan(context.random, context.tokenOf(id, slot));
  await makeLiveCall(context, id, slot, method, plan);
}

export const spawn = {
  name: "spawn",
  weight: 25,
  async run(context) {
    const slot = context.runners.pickWith(context.random, "spawn");
    const calls = [liveOn(context, slot, "spawn")];
    if (context.random.chance(0.2)) calls.push(liveOn(context, slot, "spawn"));
    await Promise.all(calls);
  },
};
