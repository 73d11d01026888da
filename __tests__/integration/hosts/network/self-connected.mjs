// A host whose sockets all get one port: argv[3], which is a port for its sandbox too, and at which
// nothing listens. Says whether a socket of its own is connected to itself there, and what the
// sandbox gets. argv[2]: the workspace.

import { once } from "node:events";
import { connect } from "node:net";
import { BubblewrapNativeRunner } from "../../../../dist/index.js";

const [, , shadowDir, text] = process.argv;
const port = Number(text);
const socket = connect(port, "127.0.0.1");
await once(socket, "connect");
const itself = socket.localPort === socket.remotePort;
socket.resetAndDestroy();
await once(socket, "close");

const runner = new BubblewrapNativeRunner({
  shadowDir,
  network: { hostPorts: [port] },
  prewarm: 0,
});
const code = `import socket
try: print(socket.create_connection(("127.0.0.1", ${port}), 10).recv(9))
except OSError as error: print(error.strerror)`;
const { stdout, audits } = await runner.exec({ argv: ["/usr/bin/python3", "-c", code] });
await runner.close();
const reasons = audits[0].connections.map(({ reason }) => reason);
const out = Buffer.from(stdout).toString().trim();
process.stdout.write(JSON.stringify({ itself, out, reasons }));
