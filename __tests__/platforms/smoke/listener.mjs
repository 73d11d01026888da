/** A server of the host's, on its loopback. */

import { createServer } from "node:net";

/** @param body is called with its port; whoever connects is told "reached". */
export async function withListener(body) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.end("reached");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await body(server.address().port);
  } finally {
    server.close();
  }
}
