// The servers that the network's scenarios fetch from, in a process of their own, so that what they
// take is nobody's. Sends { port, securePort } when both listen; ends with who started it.
//
// argv[2]: how many bytes GET /large is; argv[3], argv[4]: files of a key and a certificate.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";

const [largeBytes, keyFile, certFile] = [Number(process.argv[2]), process.argv[3], process.argv[4]];
const kBlock = Buffer.alloc(1024 * 1024, "x");
const kSmall = Buffer.from("small\n");

async function answer(request, response) {
  if (request.url !== "/large") {
    response.writeHead(200, { "content-length": kSmall.length }).end(kSmall);
    return;
  }
  response.writeHead(200, { "content-length": largeBytes });
  for (let left = largeBytes; left > 0; left -= kBlock.length) {
    const block = left < kBlock.length ? kBlock.subarray(0, left) : kBlock;
    if (!response.write(block)) await once(response, "drain");
  }
  response.end();
}

async function listening(server) {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server.address().port;
}

const key = readFileSync(keyFile);
const cert = readFileSync(certFile);
const port = await listening(http.createServer(answer));
const securePort = await listening(https.createServer({ key, cert }, answer));
process.on("disconnect", () => process.exit());
process.send({ port, securePort });
