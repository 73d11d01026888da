// A verified skill in a worker.

import { WasmSkillExecutor } from "../../dist/index.js";
import { buildSkill, caller } from "./skill.mjs";

export async function open({ workspace }) {
  const path = await buildSkill(workspace, "worker");
  return caller(new WasmSkillExecutor(), path, "verified");
}
