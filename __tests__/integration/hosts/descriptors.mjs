// Which descriptors a command has: WORKSPACE. The control is what a child of Node gets.
import { spawnSync } from "node:child_process";
import { makeRunner, say } from "./common.mjs";

const [workspace] = process.argv.slice(2);
const argv = ["ls", "/proc/self/fd"];
const names = (bytes) => Buffer.from(bytes).toString().trim().split("\n");

const seen = { control: names(spawnSync(argv[0], argv.slice(1)).stdout) };
for (const kind of ["strict", "compat", "local"]) {
  seen[kind] = names((await makeRunner(kind, workspace).exec({ argv })).stdout);
}
say(seen);
