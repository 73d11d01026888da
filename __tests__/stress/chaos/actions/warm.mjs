// Fills a pool now; a runner that is closed meanwhile refuses, and one that is struck may fail.
import { now } from "../judge/ledger.mjs";

export const warm = {
  name: "warm",
  weight: 3,
  async run({ runners, random, ledger }) {
    const slot = runners.pickWith(random, "warm");
    const event = { event: "warm", runner: slot.id, workspace: slot.workspace.path, since: now() };
    await slot.runner.warm().then(
      (standing) => ledger.write({ ...event, standing }),
      (error) => ledger.write({ ...event, refused: `${error.code} ${error.message}` }),
    );
  },
};
