/** Selects the engine that runs a skill. */

import { invalidType } from "../../errors.js";
import { loadAddon } from "../../native.js";
import { SkillError } from "../answer.js";
import type { SkillEngine, SkillRequest } from "./engine.js";
import {
  type ExternalEngine,
  ExternalSkillEngine,
  kIwasm,
  kWasmEdge,
  kWasmer,
  wasmtime,
} from "./external.js";

/** Engines that are programs, in order of preference. */
const kExternalNames = ["wasmtime", "wasmedge", "wasmer", "iwasm"] as const;
type ExternalName = (typeof kExternalNames)[number];

/** Engines by name; "node" is the built-in one. */
export const kEngineNames = ["node", ...kExternalNames] as const;

/** An engine by its name. */
export type SkillEngineName = (typeof kEngineNames)[number];

/** The engines that an executor selects from. */
export type EngineShelf = {
  node: SkillEngine;
  /** The engine for components if wasmtime is missing. */
  components: SkillEngine;
  cacheDir: string | undefined;
};

const kInstall = "install wasmtime (https://wasmtime.dev) so that it is on PATH";

function external(name: ExternalName, cacheDir: string | undefined) {
  const known: Record<typeof name, ExternalEngine> = {
    wasmtime: wasmtime(cacheDir),
    wasmedge: kWasmEdge,
    wasmer: kWasmer,
    iwasm: kIwasm,
  };
  return known[name];
}

/** Returns an engine that is a program on the host's own PATH; undefined if it is not found. */
export function findEngine(
  name: ExternalName,
  cacheDir: string | undefined,
): SkillEngine | undefined {
  const program = loadAddon().findProgram(name);
  if (program === null) return undefined;
  return new ExternalSkillEngine(program, external(name, cacheDir));
}

/** @throws TypeError for a value that is neither a name nor an engine. */
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

/** Bun and Deno also identify as Node. */
const kHost = ["Bun", "Deno"].find((name) => name.toLowerCase() in process.versions);

/** The built-in engines require Node's own WebAssembly, node:wasi and worker threads with limits. */
function builtIn(engine: SkillEngine): SkillEngine {
  if (kHost === undefined) return engine;
  throw new SkillError(`the built-in engine needs Node.js, and this host runs in ${kHost}`, {
    code: "ERR_SKILL_ENGINE",
    fix: `${kInstall}, or run the host in Node.js`,
  });
}

/**
 * "auto" selects the built-in engine; for components wasmtime or, if missing, the component toolchain; and
 * for fuel that must be metered (`strictFuel`) an engine that meters it. In Bun and Deno, which have no
 * built-in engine, it selects the first program on PATH.
 *
 * @throws SkillError with code ERR_SKILL_ENGINE, and a fix, if the requested engine is not available here.
 */
export function chooseEngine(
  asked: "auto" | SkillEngineName | SkillEngine,
  request: SkillRequest,
  shelf: EngineShelf,
  strictFuel: boolean,
): SkillEngine {
  if (typeof asked === "object") return asked;
  const own = request.isComponent ? shelf.components : shelf.node;
  if (asked === "node") return builtIn(own);
  const find = (name: ExternalName) => findEngine(name, shelf.cacheDir);
  const firstOf = (...names: readonly ExternalName[]) => {
    for (const name of names) {
      const found = find(name);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  if (asked !== "auto") {
    const found = find(asked);
    if (found !== undefined) return found;
    throw new SkillError(`there is no ${asked} on the host's PATH`, {
      code: "ERR_SKILL_ENGINE",
      fix: asked === "wasmtime" ? kInstall : `install ${asked}, or leave the engine to "auto"`,
    });
  }
  if (request.isComponent) return find("wasmtime") ?? builtIn(own);
  if (strictFuel) return firstOf("wasmtime", "wasmedge") ?? builtIn(own);
  return kHost === undefined ? own : (firstOf(...kExternalNames) ?? builtIn(own));
}
