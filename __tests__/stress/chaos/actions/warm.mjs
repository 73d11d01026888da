// Fills a pool now; a runner that is closed meanwhile refuses, and one that is struck may fail.
export const warm = {
  name: "warm",
  weight: 3,
  async run({ runners, random, ledger }) {
    const slot = runners.pickPooled(random);
    await slot.runner.warm().then(
      (standing) => ledger.write({ event: "warm", runner: slot.id, standing }),
      (error) =>
        ledger.write({ event: "warm", runner: slot.id, rejected: error.code ?? error.message }),
    );
  },
};
