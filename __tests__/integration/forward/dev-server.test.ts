/** A development server in a sandbox without a network, in a real browser: it reloads the page when a file changes. */

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { describeInBrowser, pageOf, useBrowser } from "../review/browser/browser.js";
import { kNodeInSandbox } from "../support/node-arguments.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { tempDirectory } from "../support/temp.js";
import { kPort } from "./forwarding.js";

/** Serves page.html; a WebSocket, or a stream of events, tells of its changes. */
const kDevServer = `
const { createHash } = require("node:crypto");
const { readFileSync, watch } = require("node:fs");
const clients = new Set();
const server = require("node:http").createServer((request, response) => {
  if (request.url === "/events") {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    response.write(": up\\n\\n");
    const tell = () => response.write("data: changed\\n\\n");
    clients.add(tell);
    return void response.on("close", () => clients.delete(tell));
  }
  response.setHeader("Content-Type", "text/html");
  response.end(readFileSync("page.html"));
});
server.on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  const accept = createHash("sha1").update(key).digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  const tell = () => socket.write(Buffer.concat([Buffer.of(0x81, 7), Buffer.from("changed")]));
  clients.add(tell);
  socket.on("error", () => {}).on("close", () => clients.delete(tell));
});
watch(".", (_, name) => { if (name === "page.html") for (const tell of clients) tell(); });
server.listen(${kPort}, "127.0.0.1");
`;

const kListen = {
  WebSocket: `new WebSocket("ws://" + location.host + "/socket")`,
  "a stream of events": `new EventSource("/events")`,
};

/** It says when it listens: what changes before that is told to nobody. */
const page = (text: string, how: keyof typeof kListen) =>
  `<!doctype html><title>page</title><p>${text}</p><script>const changes = ${kListen[how]};
  changes.onmessage = () => location.reload();
  changes.onopen = () => { document.body.insertAdjacentHTML("beforeend", "<p>listening</p>"); };</script>`;

/** At once: half of a page has no script. */
function write(workspace: string, text: string): void {
  const whole = join(workspace, "page.html");
  writeFileSync(`${whole}.new`, text);
  renameSync(`${whole}.new`, whole);
}

describeInBrowser("a development server in a sandbox", () => {
  useBrowser();

  test.each(Object.keys(kListen) as (keyof typeof kListen)[])(
    "reloads the page when a file changes, by %s",
    async (how) => {
      const workspace = tempDirectory();
      write(workspace, page("one", how));
      const runner = new BubblewrapNativeRunner({ shadowDir: workspace, prewarm: 0 });
      const live = await runner.spawn({ argv: [...kNodeInSandbox, "-e", kDevServer] });
      await live.waitForPort(kPort);
      const forward = await live.forward(kPort);
      const shown = await pageOf(forward.url);
      await shown.getByText("one").waitFor();
      await shown.getByText("listening").waitFor();
      for (const text of ["two", "three"]) {
        write(workspace, page(text, how));
        await shown.getByText(text, { exact: true }).waitFor();
        await shown.getByText("listening").waitFor();
      }
      const byName = await pageOf(`http://app.localhost:${forward.port}/`);
      await byName.getByText("three").waitFor();
      const rebound = await pageOf(`http://rebound.test:${forward.port}/`);
      expect(await rebound.locator("body").innerText()).toContain("the request is refused");
      for (const each of [shown, byName, rebound]) await each.close();
      const { audits } = await live.stop();
      expect(audits[0]?.forwards?.[0]?.refused).toBeGreaterThan(0);
      await runner.close();
    },
  );
});
