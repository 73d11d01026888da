// An untrusted skill: an engine process in the OS sandbox.

import { WasmSkillExecutor } from "../../dist/index.js";
import { buildSkill, caller } from "./skill.mjs";

export async function open({ workspace }) {
  const path = await buildSkill(workspace, "sandboxed");
  return caller(new WasmSkillExecutor({ environment: {} }), path, "untrusted");
}
