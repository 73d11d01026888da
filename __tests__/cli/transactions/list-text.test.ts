import { expect, it } from "vitest";

import { age, listText } from "../../../lib/cli/transactions/tx.js";
import type { ListedTransaction } from "../../../lib/index.js";

const kNow = Date.UTC(2026, 0, 2);

function listed(changes: Partial<ListedTransaction> = {}): ListedTransaction {
  return {
    id: "4be8c0f1a297",
    workspace: "/srv/project",
    createdAt: new Date(kNow - 90 * 60_000),
    backend: "overlay",
    state: "closed",
    ...changes,
  };
}

it.each([
  [0, "just now"],
  [59_999, "just now"],
  [60_000, "1 min ago"],
  [3_599_999, "59 min ago"],
  [3_600_000, "1 h ago"],
  [86_399_999, "23 h ago"],
  [86_400_000, "1 d ago"],
  [40 * 86_400_000, "40 d ago"],
  [-5, "just now"],
])("%i ms are %s", (ms, words) => {
  expect(age(ms)).toBe(words);
});

it("tells of each in a line", () => {
  const all = [
    listed(),
    listed({ id: "000000000001", state: "open", createdAt: new Date(kNow) }),
    listed({ id: "000000000002", state: "torn", recovered: "torn" }),
    listed({ id: "000000000003", recovered: "rolled-back", workspace: "/a\u001b[2Jb" }),
    listed({ id: "000000000004", committed: true }),
  ];
  expect(listText(all, kNow, false)).toBe(`ID            STATE   OPENED    WORKSPACE
4be8c0f1a297  closed  1 h ago   /srv/project
000000000001  open    just now  /srv/project
000000000002  torn    1 h ago   /srv/project
000000000003  closed  1 h ago   /a^[[2Jb (a commit is to be rolled back)
000000000004  closed  1 h ago   /srv/project (committed: undo takes it back)
`);
});

it("tells what each holds, if that was measured", () => {
  const parts = { changesBytes: 0, checkpointsBytes: 0, homeBytes: 0 };
  const all = [
    listed({ space: { bytes: 1536, sharedBytes: 0, ...parts } }),
    listed({ id: "000000000001", space: { bytes: 0, sharedBytes: 2 ** 30, ...parts } }),
    listed({ id: "000000000002" }), // it has been removed meanwhile
  ];
  expect(
    listText(all, kNow, false),
  ).toBe(`ID            STATE   OPENED   SIZE                WORKSPACE
4be8c0f1a297  closed  1 h ago  1.5 KiB             /srv/project
000000000001  closed  1 h ago  0 B + 1 GiB shared  /srv/project
000000000002  closed  1 h ago                      /srv/project
`);
});

it("says that there are none", () => {
  expect(listText([], kNow, true)).toBe("no transactions\n");
});
