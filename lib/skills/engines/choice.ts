/** Which engine runs a skill. */

import { invalidType } from "../../errors.js";
import { loadAddon } from "../../native.js";
import { SkillError } from "../skill-error.js";
import type { SkillEngine, SkillRequest } from "./engine.js";
import { type ExternalEngine, ExternalSkillEngine } from "./external.js";
import { kIwasm, kWasmEdge, kWasmer } from "./others.js";
import { wasmtime } from "./wasmtime.js";

/** Engines by name, in the order of preference after the built-in one. */
export const kEngineNames = ["node", "wasmtime", "wasmedge", "wasmer", "iwasm"] as const;

/** An engine by its name. */
export type SkillEngineName = (typeof kEngineNames)[number];

/** What an executor has to choose from. */
export type EngineShelf = {
  node: SkillEngine;
  /** The engine for components where there is no wasmtime. */
  components: SkillEngine;
  cacheDir: string | undefined;
};

const kInstall = "install wasmtime (https://wasmtime.dev) so that it is on PATH";

function external(name: Exclude<SkillEngineName, "node">, cacheDir: string | undefined) {
  const known: Record<typeof name, ExternalEngine> = {
    wasmtime: wasmtime(cacheDir),
    wasmedge: kWasmEdge,
    wasmer: kWasmer,
    iwasm: kIwasm,
  };
  return known[name];
}

/** An engine that is a program on the host's own PATH; undefined where it is not there. */
export function findEngine(
  name: Exclude<SkillEngineName, "node">,
  cacheDir: string | undefined,
): SkillEngine | undefined {
  const program = loadAddon().findProgram(name);
  if (program === null) return undefined;
  return new ExternalSkillEngine(program, external(name, cacheDir));
}

/** @throws TypeError for what is neither a name nor an engine. */
export function checkEngine(engine: unknown): "auto" | SkillEngineName | SkillEngine {
  if (engine === undefined || engine === "auto") return "auto";
  const name = kEngineNames.find((each) => each === engine);
  if (name !== undefined) return name;
  const like = Object(engine) as Partial<SkillEngine>;
  if (typeof like.command === "function" && typeof like.answer === "function") {
    return engine as SkillEngine;
  }
  throw invalidType("engine", `"auto", ${kEngineNames.join(", ")} or an engine`, engine);
}

/**
 * "auto" is the built-in engine, for components wasmtime and else the component toolchain, and for
 * fuel that must be metered (`strictFuel`) an engine that meters it.
 *
 * @throws SkillError with code ERR_SKILL_ENGINE, and a fix, when the one that is asked for is not here.
 */
export function chooseEngine(
  asked: "auto" | SkillEngineName | SkillEngine,
  request: SkillRequest,
  shelf: EngineShelf,
  strictFuel: boolean,
): SkillEngine {
  if (typeof asked === "object") return asked;
  if (asked === "node") return request.isComponent ? shelf.components : shelf.node;
  if (asked !== "auto") {
    const found = findEngine(asked, shelf.cacheDir);
    if (found !== undefined) return found;
    throw new SkillError(`there is no ${asked} on the host's PATH`, {
      code: "ERR_SKILL_ENGINE",
      fix: asked === "wasmtime" ? kInstall : `install ${asked}, or leave the engine to "auto"`,
    });
  }
  if (request.isComponent) return findEngine("wasmtime", shelf.cacheDir) ?? shelf.components;
  if (!strictFuel) return shelf.node;
  const meters = (["wasmtime", "wasmedge"] as const).map((name) =>
    findEngine(name, shelf.cacheDir),
  );
  return meters.find((engine) => engine !== undefined) ?? shelf.node;
}
