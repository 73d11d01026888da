// A host that ends in mid-run: HOW WORKSPACE. How: exit, throw, reject, abort-and-exit, in-callback.
import { makeRunner, say } from "./common.mjs";

const [how, workspace] = process.argv.slice(2);
const argv = ["sh", "-c", "(setsid sleep 1000 &) & echo started; sleep 1000"];

const kEnds = {
  exit: () => process.exit(7),
  throw: () => {
    throw new Error("the host's own mistake");
  },
  reject: () => void Promise.reject(new Error("the host's own mistake")),
  "abort-and-exit": (controller) => {
    controller.abort();
    process.exit(7);
  },
  signal: () => process.kill(process.pid, "SIGTERM"),
};

const controller = new AbortController();
let started = 0;
for (const kind of ["strict", "warm", "compat", "local"]) {
  const onStdout = () => {
    started += 1;
    if (started < 4) return;
    say("started");
    if (how === "in-callback") process.exit(7);
    setImmediate(() => kEnds[how](controller));
  };
  void makeRunner(kind, workspace).exec({ argv, signal: controller.signal, onStdout });
}
