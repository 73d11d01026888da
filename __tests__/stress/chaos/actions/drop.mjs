// Forgets a runner without closing it, while others may still use it.
export const drop = {
  name: "drop",
  weight: 2,
  async run({ runners, random, ledger }) {
    const slot = runners.pickWith(random, "close");
    ledger.write({ event: "drop", runner: slot.id });
    runners.drop(slot);
  },
};
