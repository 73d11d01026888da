// Closes a runner with whatever it is at: calls in flight and waiting, a pool that is being filled.
import { execOn } from "./exec.mjs";

export const close = {
  name: "close",
  weight: 5,
  async run(context) {
    const slot = context.runners.pickWith(context.random, "close");
    const calls = context.random.chance(0.5) ? [execOn(context, slot), execOn(context, slot)] : [];
    context.runners.close(slot);
    if (context.random.chance(0.3)) calls.push(execOn(context, slot)); // which is refused
    await Promise.all(calls);
  },
};
