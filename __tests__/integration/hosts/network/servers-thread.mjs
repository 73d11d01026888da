// The servers, on a thread of their own: what their clients do to them is no matter of the host's under
// test, and what fails there is. A message asks for all that has reached them so far.
import { parentPort, workerData } from "node:worker_threads";
import { openServers } from "./servers.mjs";

// A client that goes in the middle of something is no matter of the servers' either.
const kGone = new Set([
  "ECONNRESET",
  "EPIPE",
  "ERR_HTTP2_STREAM_ERROR",
  "ERR_STREAM_PREMATURE_CLOSE",
]);
process.on("uncaughtException", (error) => {
  if (!kGone.has(error.code)) throw error;
});

const { hits } = await openServers(workerData);
parentPort.on("message", () => parentPort.postMessage(hits));
parentPort.postMessage("open");
