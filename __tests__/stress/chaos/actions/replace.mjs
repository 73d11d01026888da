// Puts another directory where a workspace was, under the calls that use it.
export const replace = {
  name: "replace workspace",
  weight: 2,
  async run({ random, workspaces, ledger }) {
    random.pick(workspaces).replace(ledger);
  },
};
