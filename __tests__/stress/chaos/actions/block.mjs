// Keeps the JavaScript thread busy: deadlines hold, and what has happened is told afterwards.
import { now } from "../judge/ledger.mjs";

export const block = {
  name: "block",
  weight: 1,
  async run({ random }) {
    const until = now() + random.int(10, 150);
    while (now() < until);
  },
};
