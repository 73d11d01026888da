import * as v from "valibot";

import { defineTool } from "../tool.js";

export const discard = defineTool({
  name: "discard",
  title: "Throw all changes away",
  description:
    "Throws away all that the sandbox's commands have changed since the last commit, its checkpoints, and the way back from that commit; ends what runs. The real files stay as they are.",
  input: v.strictObject({}),
  output: v.strictObject({ discarded: v.number() }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  call: async (_, { sandbox }) => {
    const discarded = await sandbox.discard();
    const text = discarded === 0 ? "nothing was changed" : `${discarded} changes were discarded`;
    return { text, structured: { discarded } };
  },
});
