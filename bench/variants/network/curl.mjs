// curl, as the scenarios of the network call it: here, and in a sandbox through its proxy.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const kLook = ["-s", "-S", "-k", "-o", "/dev/null", "-w", "%{size_download} %{time_total}"];
const kProxy = ["--noproxy", "", "--proxytunnel", "--proxy", "http://127.0.0.1:3128"];

/** A runner's option: the server of this port, which is the host's own, and nothing else. */
export const onlyPort = (port) => ({ allow: [`localhost:${port}`], allowPrivate: ["localhost"] });

function look(output, bytes) {
  const [size, seconds] = output.split(" ").map(Number);
  if (size !== bytes) throw new Error(`curl got ${size} of ${bytes} bytes`);
  return seconds * 1e3;
}

/** What the request took, in ms, as curl tells it; without a sandbox. */
export async function fetchHere(url, bytes) {
  const { stdout } = await run("curl", [...kLook, url]);
  return look(stdout, bytes);
}

/** The same by `commands`, a runner or a session. */
export async function fetchInside(commands, url, bytes) {
  const limits = { maxStdoutBytes: 4096, maxStderrBytes: 4096, timeoutMs: 120_000 };
  const argv = ["curl", ...kLook, ...kProxy, url];
  const { stdout, stderr, exitCode } = await commands.exec({ argv, limits });
  if (exitCode !== 0) throw new Error(Buffer.from(stderr).toString());
  return look(Buffer.from(stdout).toString(), bytes);
}
