/** Formats review comments for people and models. Pure. */

import type { ReviewComment } from "../types/review.js";
import { visibleLine, visibleText } from "./text.js";

/** Returns where a comment is: "a.txt:3", and the side unless it is the transaction's. */
export function placeOf({ path, line, side }: ReviewComment): string {
  const place = `${visibleLine(path)}${line === undefined ? "" : `:${line}`}`;
  return side === "before" ? `${place} (before)` : place;
}

/** Returns comments as text: where, the line, and what is written about it. */
export function commentWords(comments: readonly ReviewComment[]): string {
  const texts = comments.map((comment) => {
    const { lineText, text, isOutdated, isResolved } = comment;
    const tags = [isOutdated && "outdated", isResolved && "resolved"].filter(Boolean).join(", ");
    const quoted = lineText === undefined ? "" : `> ${visibleLine(lineText)}\n`;
    return `${placeOf(comment)}${tags === "" ? "" : ` [${tags}]`}\n${quoted}${visibleText(text)}`;
  });
  return texts.join("\n\n");
}
