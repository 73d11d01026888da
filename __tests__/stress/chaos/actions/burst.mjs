// More calls on one runner than it runs at once, with all standing sandboxes taken.
import { execOn } from "./exec.mjs";

export const burst = {
  name: "burst",
  weight: 3,
  async run(context) {
    const slot = context.runners.pick(context.random);
    const count = context.random.int(3, 12);
    await Promise.all(Array.from({ length: count }, () => execOn(context, slot)));
  },
};
