// Rounds of so many transactions that end in all ways: WORKSPACE STATE RUNS. Prints what this host had after a warm-up, and
// after. Run it below `ulimit -n 256`.
import {
  BubblewrapNativeRunner,
  leftovers,
  openDescriptors,
  say,
} from "../../integration/hosts/common.mjs";
import { measureRounds } from "../rounds.mjs";

const [shadowDir, directory, runs] = process.argv.slice(2);
const runner = new BubblewrapNativeRunner({ shadowDir });

const kBackends = ["overlay", "copy"];
const kEnds = {
  committed: async (transaction) => {
    await transaction.commit();
    await transaction.close();
  },
  undone: async (transaction) => {
    await transaction.commit();
    await transaction.undo();
    await transaction.discard();
  },
  discarded: (transaction) => transaction.discard(),
  resumed: async (transaction) => {
    const checkpoint = await transaction.checkpoint();
    await transaction.close();
    const resumed = await runner.resumeTransaction(transaction.id, { directory });
    await resumed.rollback(checkpoint);
    await resumed.changes();
    await resumed.discard();
  },
  "closed twice": async (transaction) => {
    const session = await transaction.openSession();
    await session.exec({ argv: ["true"] });
    await Promise.all([transaction.close(), transaction.close()]);
  },
};

async function runAll(count) {
  const seen = {};
  for (let index = 0; index < count; index += 1) {
    const backend = kBackends[index % kBackends.length];
    const names = Object.keys(kEnds);
    const name = names[index % names.length];
    const transaction = await runner.openTransaction({ directory, backend });
    const script = `echo ${index} > a.txt; echo ${index} > new-${index % 7}`;
    const { outcome } = await transaction.exec({ argv: ["sh", "-c", script] });
    await kEnds[name](transaction);
    const end = `${backend} ${outcome.kind} ${name}`;
    seen[end] = (seen[end] ?? 0) + 1;
  }
  return seen;
}

const measure = async () => {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  // Without a collection: what is closed is closed, whether or not anything is collected.
  return { descriptors: openDescriptors(), residentBytes: process.memoryUsage.rss() };
};
const grown = await measureRounds({ warmUp: 50, runs: Number(runs), runAll, measure });
await runner.close();
say({ ...grown, left: leftovers() });
