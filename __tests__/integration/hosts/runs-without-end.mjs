// Starts runs without end, to be killed: WORKSPACE. Says "ready" once one of each kind runs.
import { makeRunner, say } from "./common.mjs";

const [workspace] = process.argv.slice(2);
const hiding = "setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000' & (sleep 1000 &) & kill -STOP 0";
const kinds = ["strict", "warm", "compat", "local"];

await Promise.all(kinds.map((kind) => makeRunner(kind, workspace).exec({ argv: ["true"] })));
say("ready");
for (const kind of kinds) {
  const runner = makeRunner(kind, workspace);
  void runner.exec({ argv: ["sh", "-c", "exec setsid sleep 1000"] });
  void runner.exec({ argv: ["sh", "-c", `setsid sh -c '${hiding.replaceAll("'", "'\\''")}'`] });
}
for (let i = 0; ; i += 1) {
  const runner = makeRunner(kinds[i % kinds.length], workspace);
  await runner.exec({ argv: ["sh", "-c", "(sleep 1000 &) & sleep 0.01"] });
}
