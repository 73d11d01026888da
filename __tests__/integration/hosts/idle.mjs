// A host that does nothing more once its runs are over must end by itself: WORKSPACE.
import { makeRunner, say } from "./common.mjs";

const [workspace] = process.argv.slice(2);
const kinds = ["strict", "compat", "local"];
const runs = kinds.map((kind) =>
  makeRunner(kind, workspace).exec({ argv: ["sh", "-c", "sleep 0.2; exit 5"] }),
);
// Nothing but the runs keeps the process alive.
say((await Promise.all(runs)).map(({ exitCode }) => exitCode));
