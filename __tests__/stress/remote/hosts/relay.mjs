/** Listens on a port of the loopback, and passes on what comes to the same port of another address. */

import { connect, createServer } from "node:net";

const [port = "0", address = ""] = process.argv.slice(2);
const server = createServer((near) => {
  const far = connect(Number(port), address);
  for (const [from, to] of [
    [near, far],
    [far, near],
  ]) {
    from.setNoDelay(true);
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => to.destroy());
  }
});
server.listen(Number(port), "127.0.0.1", () => process.stdout.write("listening\n"));
