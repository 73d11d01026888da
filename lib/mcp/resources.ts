/** What tools link to, as resources. */

import type { McpServer } from "@modelcontextprotocol/server";

import { kOutputTemplate, type OutputStore } from "./output-store.js";
import type { McpSdk } from "./sdk.js";

/** Registers them with one server. */
export function registerResources(server: McpServer, outputs: OutputStore, sdk: McpSdk): void {
  const template = new sdk.ResourceTemplate(kOutputTemplate, {
    list: () => ({ resources: outputs.links() }),
  });
  const about = {
    title: "What a command wrote, or a diff",
    description: "In parts of at most a mebibyte. The oldest are forgotten.",
    mimeType: "text/plain",
  };
  server.registerResource("output", template, about, (uri, { id, stream, part }) => {
    const text = outputs.read(String(id), String(stream), String(part));
    if (text === undefined) throw new sdk.ResourceNotFoundError(uri.href);
    return { contents: [{ uri: uri.href, mimeType: "text/plain", text }] };
  });
}
