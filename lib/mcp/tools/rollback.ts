import * as v from "valibot";

import { defineTool, ToolError } from "../tool.js";

export const rollback = defineTool({
  name: "rollback",
  title: "Go back to a checkpoint",
  description:
    "Makes the changes exactly what they were at a checkpoint. Ends what runs; later checkpoints are gone. The real files stay as they are.",
  input: v.strictObject({
    id: v.pipe(v.string(), v.description("As `checkpoint` gave it.")),
  }),
  output: v.strictObject({ id: v.string() }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
    openWorldHint: false,
  },
  call: async ({ id }, { sandbox }) => {
    const known = await (await sandbox.transaction()).checkpoints();
    if (known.every((each) => each.id !== id)) {
      const ids = known.map((each) => each.id).join(", ") || "none";
      throw new ToolError(
        `there is no checkpoint ${JSON.stringify(id.slice(0, 100))}; there are: ${ids}`,
      );
    }
    await sandbox.changing((transaction) => transaction.rollback(id));
    return { text: `the changes are those of checkpoint ${id}`, structured: { id } };
  },
});
