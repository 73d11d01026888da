/** The tool that reads the comments of the review page; for a sandbox that has one. */

import * as v from "valibot";

import { commentWords } from "../../comment-text.js";
import { defineTool } from "../tool.js";

export const comments = defineTool({
  name: "comments",
  title: "Read the review comments",
  description:
    "Returns the open comments that a person has written on lines of the changes, on the review page. An outdated one is on a line that has changed since. Only the person resolves them.",
  input: v.strictObject({}),
  output: v.object({
    comments: v.array(
      v.object({
        id: v.string(),
        path: v.string(),
        side: v.picklist(["before", "after"]),
        line: v.optional(v.number()),
        lineText: v.optional(v.string()),
        text: v.string(),
        isOutdated: v.boolean(),
      }),
    ),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async (_, { sandbox }) => {
    const open = await sandbox.openComments();
    return {
      text: commentWords(open) || "there are no open comments",
      structured: {
        comments: open.map(({ createdAt: _, isResolved: __, ...comment }) => comment),
      },
    };
  },
});
