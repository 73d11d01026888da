// The runner that a page has introduced: its workspace is the example's directory.
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { BubblewrapNativeRunner } from "@openagentic/native-runner";

const usual = ["/usr", "/bin", "/lib", "/lib64", "/etc"].filter((path) => existsSync(path));
const node = dirname(dirname(process.execPath));

export const runner = new BubblewrapNativeRunner({
  shadowDir: process.cwd(),
  roBinds: usual.some((path) => `${node}/`.startsWith(`${path}/`)) ? usual : [...usual, node],
});
