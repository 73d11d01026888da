// What the hostile commands are let loose on: a workspace (a clone of this repository), a home with
// a planted key, a secret in the environment, and a listener on the host's loopback.
import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import { inRoot, root } from "../lib/project.mjs";
import { outputOf } from "../lib/run.mjs";
import { tempDirectory } from "../lib/temp.mjs";

/**
 * A clone that shares nothing with the checkout: --local alone would hard-link its objects, and what
 * writes in the workspace would then write in the checkout.
 */
function makeWorkspace(directory) {
  const workspace = path.join(directory, "workspace");
  const clone = ["clone", "--quiet", "--no-hardlinks", root, workspace];
  const commit = outputOf("git", ["rev-parse", "--short", "HEAD"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (commit !== undefined && outputOf("git", clone) !== undefined) {
    return { workspace, origin: `a clone of this repository at ${commit.trim()}` };
  }
  mkdirSync(workspace);
  for (const part of ["native", "lib", "types", "package.json"].filter((name) =>
    existsSync(inRoot(name)),
  )) {
    cpSync(inRoot(part), path.join(workspace, part), { recursive: true });
  }
  return { workspace, origin: "a copy of this repository's sources (it has no commit to clone)" };
}

function plantKey(directory, secret) {
  const home = path.join(directory, "home");
  mkdirSync(path.join(home, ".ssh"), { recursive: true, mode: 0o700 });
  writeFileSync(path.join(home, ".ssh", "id_ed25519"), `${secret}\n`, { mode: 0o600 });
  return home;
}

/** Answers every connection with `banner`. */
async function listen(banner) {
  const server = net.createServer((socket) => socket.on("error", () => {}).end(banner));
  server.unref();
  await new Promise((resolve, reject) =>
    server.once("error", reject).listen(0, "127.0.0.1", resolve),
  );
  return server;
}

export async function makeScene() {
  const directory = tempDirectory("demo");
  const secret = `PRIVATE-KEY-${randomUUID()}`;
  process.env.DEMO_API_KEY = secret;
  const server = await listen("hello from the host");
  return {
    ...makeWorkspace(directory),
    secret,
    home: plantKey(directory, secret),
    port: server.address().port,
    /** In the environment of every command, so that whatever outlives one can be found. */
    marker: `DEMO_RUN=${randomUUID()}`,
    close: () => server.close(),
  };
}
