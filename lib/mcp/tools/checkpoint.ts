import * as v from "valibot";

import { defineTool } from "../tool.js";

const kMostName = 256;

/** A checkpoint as it is told. */
export const kCheckpoint = v.strictObject({
  id: v.string(),
  name: v.optional(v.string()),
  createdAt: v.string(),
});

export const checkpoint = defineTool({
  name: "checkpoint",
  title: "Keep this moment to go back to",
  description:
    "Keeps what was changed so far, so that `rollback` leads back to it. Nothing may run meanwhile. Lasts until the next commit.",
  input: v.strictObject({
    name: v.optional(v.pipe(v.string(), v.maxLength(kMostName))),
  }),
  output: v.strictObject({
    id: v.pipe(v.string(), v.description("For `rollback`.")),
    checkpoints: v.pipe(v.array(kCheckpoint), v.description("All there are, the first first.")),
  }),
  annotations: {
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  },
  call: async ({ name }, { sandbox }) => {
    const transaction = await sandbox.transaction();
    const { id } = await transaction.checkpoint(name);
    const all = await transaction.checkpoints();
    return {
      text: `checkpoint ${id}${name === undefined ? "" : ` "${name}"`}`,
      structured: {
        id,
        checkpoints: all.map((each) => ({
          id: each.id,
          ...(each.name !== undefined && { name: each.name }),
          createdAt: each.createdAt.toISOString(),
        })),
      },
    };
  },
});
