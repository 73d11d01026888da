// A host under whatever engine runs it: uses the package in the ways that need no sandbox and in
// those that do. Prints what became of each as one line of JSON; that line is the proof that nothing
// has ended the process.
import * as native from "../../../dist/index.js";

const [shadowDir] = process.argv.slice(2);

async function settled(use) {
  try {
    return { value: (await use()) ?? null };
  } catch (error) {
    const { name, code, message, fix } = error;
    return { isSandboxError: error instanceof native.SandboxError, name, code, message, fix };
  }
}

const command = { argv: ["true"] };
const exec = (Runner) => () =>
  new Runner({ shadowDir }).exec(command).then(({ outcome }) => outcome.kind);

const uses = {
  bubblewrap: exec(native.BubblewrapNativeRunner),
  landlock: exec(native.LandlockNativeRunner),
  local: exec(native.LocalNativeRunner),
  environment: async () => {
    process.env.NATIVE_RUNNER_SET = "by the host";
    delete process.env.NATIVE_RUNNER_TAKEN_AWAY;
    const script = 'echo "$NATIVE_RUNNER_SET, $NATIVE_RUNNER_TAKEN_AWAY"';
    const runner = new native.LocalNativeRunner({ shadowDir });
    const { stdout } = await runner.exec({ argv: ["sh", "-c", script] });
    return new TextDecoder().decode(stdout);
  },
  session: async () => {
    const session = await new native.BubblewrapNativeRunner({ shadowDir }).openSession();
    await session.close();
  },
  spawn: async () => {
    const child = await new native.LocalNativeRunner({ shadowDir }).spawn(command);
    return (await child.result).outcome.kind;
  },
  argv: () =>
    native.buildBubblewrapArgv({
      bwrapPath: "bwrap",
      shadowDir: "/w",
      commandArgv: ["ls"],
      network: "deny",
    }).cmd,
  runtime: async () => (await native.createRuntime({ runtimeType: "auto" })).name,
  project: async () => typeof (await new native.Bwrap(shadowDir).exec("true")),
  shellPolicy: () => native.checkShellCommand("ls").allowed,
  configuration: () => native.parseRuntimeConfig({ network: "allow" }).network,
};

const report = {};
for (const [name, use] of Object.entries(uses)) report[name] = await settled(use);
process.stdout.write(`${JSON.stringify(report)}\n`);
