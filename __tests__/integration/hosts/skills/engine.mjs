// A host that runs a WASM skill. Prints its output, or the error's code and what to do.
import { WasmSkillExecutor } from "../../../../dist/index.js";

const [wasmPath, engine] = process.argv.slice(2);
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const executor = new WasmSkillExecutor({ engine });
try {
  const skill = { manifest: { name: "echo" }, wasmPath, trustTier: "verified" };
  const { output } = await executor.execute(skill, "hello");
  say({ output });
} catch ({ name, code, message, fix }) {
  say({ name, code, message, fix });
} finally {
  await executor.close();
}
