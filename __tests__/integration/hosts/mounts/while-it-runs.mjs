// A host on which a filesystem is mounted while a command runs: KIND WORKSPACE DIRECTORY.
// Says "up" once the command runs, which looks into DIRECTORY/inner when WORKSPACE/go is there; then
// what it saw there, and what a later command of a new sandbox sees.
//   run, prewarmed, session: a strict sandbox that mounts DIRECTORY read-only; project: Bwrap.
import { Bwrap } from "../../../../dist/index.js";
import { BubblewrapNativeRunner, say } from "../common.mjs";

const [kind, shadowDir, directory] = process.argv.slice(2);
const look = `ls ${directory}/inner; echo x > ${directory}/inner/planted && echo wrote`;
const wait = "i=0; while [ ! -e go ] && [ $i -lt 300 ]; do sleep 0.05; i=$((i+1)); done";
const words = (text) => text.split("\n").filter((word) => word !== "");

const makeRunner = (prewarm) => {
  const roBinds = ["/usr", "/bin", "/lib", "/lib64", "/etc", directory];
  return new BubblewrapNativeRunner({ shadowDir, prewarm, roBinds });
};

async function see(runner, script) {
  let isUp = false;
  const onStdout = () => {
    if (!isUp) say("up");
    isUp = true;
  };
  const result = await runner.exec({ argv: ["sh", "-c", script], onStdout });
  const { kind: outcome, reason } = result.outcome;
  const seen = words(Buffer.from(result.stdout).toString()).filter((word) => word !== "up");
  return outcome === "exited" ? seen : [outcome, reason];
}

const kKinds = {
  run: () => see(makeRunner(0), `echo up; ${wait}; ${look}`),
  prewarmed: async () => {
    const runner = makeRunner(1);
    await runner.warm();
    return see(runner, `echo up; ${wait}; ${look}`);
  },
  session: async () => {
    const session = await makeRunner(0).openSession();
    await see(session, "echo up");
    while ((await see(session, "test -e go && echo is there")).length === 0);
    const seen = await see(session, look);
    await session.close();
    return seen;
  },
  project: async () => {
    const project = new Bwrap(shadowDir);
    const reported = setTimeout(() => say("up"), 1000); // its output comes at the end
    const text = await project.exec(`${wait}; (${look}) 2> ignored; true`);
    clearTimeout(reported);
    return words(text);
  },
};

const during = await kKinds[kind]();
const after = await see(makeRunner(0), look);
say({ during, after });
process.exit(0);
