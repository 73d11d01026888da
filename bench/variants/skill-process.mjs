// A verified skill in a supervised process without a sandbox, which its fuel limit asks for.

import { WasmSkillExecutor } from "../../dist/index.js";
import { buildSkill, caller } from "./skill.mjs";

export async function open({ workspace }) {
  const path = await buildSkill(workspace, "process");
  return caller(new WasmSkillExecutor(), path, "verified", { maxFuel: 1e12 });
}
