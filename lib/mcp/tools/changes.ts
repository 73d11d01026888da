import * as v from "valibot";

import { defineTool } from "../tool.js";
import { changeWords, kChange, toldChanges } from "./change-answer.js";
import { kPathFields, pathsOption } from "./paths.js";

export const changes = defineTool({
  name: "changes",
  title: "List what was changed",
  description:
    "Lists the files that the sandbox's commands have changed and that wait to be committed. A conflict is a file that was changed outside of the sandbox as well.",
  input: v.strictObject(kPathFields),
  output: v.strictObject({
    changes: v.array(kChange),
    total: v.pipe(v.number(), v.description("All there are; the first 1000 are listed.")),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ paths }, { sandbox }) => {
    const transaction = await sandbox.transaction();
    const found = await transaction.changes(pathsOption(paths));
    return {
      text: changeWords(found) || "nothing was changed",
      structured: { changes: toldChanges(found), total: found.length },
    };
  },
});
