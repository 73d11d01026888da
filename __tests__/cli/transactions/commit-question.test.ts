import { expect, it } from "vitest";

import { answerOf } from "../../../lib/cli/transactions/settle.js";

it.each([
  ["c", "commit"],
  ["Commit", "commit"],
  [" d ", "discard"],
  ["disc", "discard"],
  ["diff", "show"],
  ["s", "show"],
  ["k", "keep"],
  ["keep", "keep"],
  ["", undefined],
  ["yes", undefined],
  ["commit it", undefined],
  ["discarded", undefined],
])("%j is %s", (text, answer) => {
  expect(answerOf(text)).toBe(answer);
});
