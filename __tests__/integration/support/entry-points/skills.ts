/** Skills. */

import { NodeSkillEngine } from "../../../../lib/skills/engines/node.js";
import { SkillWorkers } from "../../../../lib/skills/workers.js";
import { buildConfigForSkill, runSandboxed, WasmSkillExecutor } from "../package.js";
import { type EntryPoint, type Host, inside } from "./entry-point.js";

export function skillPoints({ skill }: Host): EntryPoint[] {
  const right = { manifest: { name: "echo" }, wasmPath: skill, trustTier: "verified" } as const;
  const executor = new WasmSkillExecutor({ environment: {} });
  const config = buildConfigForSkill(skill, "{}", "untrusted");
  const engine = new NodeSkillEngine(new SkillWorkers(1));
  const execute: EntryPoint = {
    title: "skill",
    place: "skill",
    right,
    misspelled: ["trusttier", "trustTier"],
    call: (given) => executor.execute(given, "{}"),
  };
  const limits = { right: {}, misspelled: ["maxMemory", "maxMemoryBytes"] as [string, string] };
  return [
    {
      title: "WasmSkillExecutor",
      place: "options",
      right: {},
      misspelled: ["strictLimit", "strictLimits"],
      call: (options) => new WasmSkillExecutor(options),
    },
    execute,
    inside(
      {
        ...execute,
        title: "skill manifest",
        right: right.manifest,
        misspelled: ["versoin", "version"],
      },
      "manifest",
      (manifest) => ({ ...right, manifest }),
    ),
    inside(
      { ...execute, ...limits, title: "skill limits" },
      "resourceLimits",
      (resourceLimits) => ({
        ...right,
        resourceLimits,
      }),
    ),
    {
      title: "execute options",
      place: "options",
      right: {},
      misspelled: ["signl", "signal"],
      call: (options) => executor.execute(right, "{}", options),
    },
    {
      title: "runSandboxed",
      place: "options",
      right: { engine, environment: {} },
      misspelled: ["runTime", "runtime"],
      call: (options) => runSandboxed(config, options),
    },
    {
      title: "runSandboxed config",
      place: "config",
      right: config,
      misspelled: ["allowNetwrk", "allowNetwork"],
      call: (given) => runSandboxed(given, { engine, environment: {} }),
    },
    {
      ...limits,
      title: "buildConfigForSkill",
      place: "resourceLimits",
      call: (given) => buildConfigForSkill(skill, "{}", "verified", given),
    },
  ];
}
