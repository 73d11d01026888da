/** The comments that a person has written on the review page, as an agent reads them. */

import type { McpServer } from "@modelcontextprotocol/server";

import type { ReviewComment } from "../../types/review.js";
import type { Transaction } from "../../types/transaction.js";
import { counted } from "../change-text.js";
import { commentWords } from "../comment-text.js";
import type { ToolSandbox } from "./sandbox.js";

/** The page beside the tools. */
export type SandboxReview = {
  /**
   * Shows a transaction: the first, and each new one.
   * @param onSettled called after each commit, undo or discard on the page; `canUndo`: there is a commit to be undone
   */
  show(
    transaction: Transaction,
    onSettled: (state: "open" | "discarded" | "closed", canUndo: boolean) => void,
  ): Promise<void>;
  comments(): Promise<readonly ReviewComment[]>;
  /** Calls `onChange` after each change of a comment; the returned function ends that. */
  watch(onChange: () => void): () => void;
  close(): Promise<void>;
};

export const kCommentsUri = "native-runner://review/comments";

/** Returns one line that tells of open comments; "" if there are none. */
export async function commentsHint(sandbox: ToolSandbox): Promise<string> {
  const { length } = await sandbox.openComments();
  return length === 0 ? "" : `[${counted(length, "open review comment")}: read with \`comments\`]`;
}

/** Registers the resource with one server, and tells clients that have subscribed to it of changes. */
export function registerComments(server: McpServer, review: SandboxReview): void {
  server.registerResource(
    "review comments",
    kCommentsUri,
    {
      title: "Comments of the person who reviews",
      description:
        "What a person has written on the review page about the changes: JSON, and text.",
      mimeType: "application/json",
    },
    async ({ href: uri }) => {
      const comments = await review.comments();
      const text = commentWords(comments) || "there are no comments";
      return {
        contents: [
          { uri, mimeType: "application/json", text: JSON.stringify({ comments }) },
          { uri, mimeType: "text/plain", text },
        ],
      };
    },
  );
  const { server: protocol } = server;
  protocol.registerCapabilities({ resources: { subscribe: true } });
  let unwatch: (() => void) | undefined;
  const end = () => {
    unwatch?.();
    unwatch = undefined;
  };
  // Of the older protocol generation. In the newer one the SDK's own entries know the subscriptions.
  protocol.setRequestHandler("resources/subscribe", ({ params }) => {
    if (params.uri === kCommentsUri) unwatch ??= watchComments(server, review);
    return {};
  });
  protocol.setRequestHandler("resources/unsubscribe", ({ params }) => {
    if (params.uri === kCommentsUri) end();
    return {};
  });
  const closed = protocol.onclose;
  protocol.onclose = () => {
    end();
    closed?.();
  };
}

/** Tells a connection of each change; the returned function ends that. */
export function watchComments(server: McpServer, review: SandboxReview): () => void {
  return review.watch(() => {
    server.server.sendResourceUpdated({ uri: kCommentsUri }).catch(() => {}); // it is closed
  });
}
