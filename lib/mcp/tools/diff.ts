import * as v from "valibot";

import { shortened } from "../text-parts.js";
import { defineTool, ToolError } from "../tool.js";
import { kPathFields, pathsOption } from "./paths.js";

const kDefaultShown = 32 * 1024;
const kMostShown = 256 * 1024;
const kMostDiff = 16 * 1024 ** 2;

export const diff = defineTool({
  name: "diff",
  title: "Show what was changed as a patch",
  description:
    "Shows the changes that wait to be committed as a patch in git's format. The linked resource is all of it.",
  input: v.strictObject({
    ...kPathFields,
    maxBytes: v.optional(
      v.pipe(
        v.number(),
        v.integer(),
        v.minValue(0),
        v.maxValue(kMostShown),
        v.description(`How much of it to return. Default ${kDefaultShown}.`),
      ),
    ),
  }),
  output: v.strictObject({
    diff: v.string(),
    bytes: v.pipe(v.number(), v.description("Of all of it.")),
    truncated: v.boolean(),
  }),
  annotations: { readOnlyHint: true, openWorldHint: false },
  call: async ({ paths, maxBytes = kDefaultShown }, { sandbox }) => {
    const transaction = await sandbox.transaction();
    const text = await transaction
      .diff({ ...pathsOption(paths), maxBytes: kMostDiff })
      .catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error;
        throw new ToolError("the diff is longer than 16 MiB: name some of the `paths`");
      });
    const bytes = Buffer.from(text);
    const shown = shortened(bytes, maxBytes, "; the resource linked has them");
    const links = text === "" ? [] : sandbox.outputs.keep(sandbox.outputs.next(), "diff", bytes);
    return {
      text: shown || "nothing was changed",
      structured: { diff: shown, bytes: bytes.length, truncated: bytes.length > maxBytes },
      links,
    };
  },
});
