import { type FileHandle, realpath } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";

import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { withRegularFile } from "../regular-file.js";
import { checkSignal } from "../runners/abort.js";
import { LocalNativeRunner } from "../runners/local.js";
import {
  type RunRecord,
  type SkillAnswer,
  type SkillEnforcement,
  SkillError,
  type SkillExecutionResult,
  settle,
} from "./answer.js";
import { type ConfinementOptions, kConfinementOptions } from "./confinement.js";
import { cpuSecondsFor, type EngineRun, runEngine } from "./engine-process.js";
import {
  checkEngine,
  chooseEngine,
  type EngineShelf,
  type SkillEngineName,
} from "./engines/choice.js";
import { ComponentSkillEngine } from "./engines/component.js";
import type { SkillEngine, SkillRequest } from "./engines/engine.js";
import { NodeSkillEngine } from "./engines/node.js";
import { type BinaryKind, binaryKind } from "./guest/module-limits.mjs";
import { buildConfigForSkill, runSandboxed, withPrivateDirectory } from "./sandbox.js";
import {
  checkInput,
  checkSkill,
  kMaxComponentBytes,
  kMaxModuleBytes,
  type Skill,
  shouldUseOsSandbox,
} from "./skill.js";
import { SkillWorkers } from "./workers.js";

/** Number of bytes that distinguish a module from a component. */
const kHeadBytes = 8;

/** Options of a {@link WasmSkillExecutor}. */
export type WasmSkillExecutorOptions = ConfinementOptions & {
  /** A name, or an engine that the host provides. Default "auto": the built-in one; see docs/skills.md. */
  engine?: "auto" | SkillEngineName | SkillEngine | undefined;
  /** Refuse a limit that the engine itself can't enforce. Default false: the operating system enforces it. */
  strictLimits?: boolean | undefined;
  /**
   * Maximum number of concurrent workers for verified skills; further ones wait. Default: the number of CPUs.
   */
  maxWorkers?: number | undefined;
  /**
   * Absolute path of a directory in which engines may keep compiled code of verified skills. Default: none.
   */
  cacheDir?: string | undefined;
};

/** Options of one call. */
export type ExecuteSkillOptions = {
  /** Ends the skill when aborted. */
  signal?: AbortSignal | undefined;
};

const kOptions: FieldsOf<WasmSkillExecutorOptions> = {
  engine: true,
  strictLimits: true,
  maxWorkers: true,
  cacheDir: true,
  ...kConfinementOptions,
};

type CheckedSkill = ReturnType<typeof checkSkill>;
type Ran = { answer: SkillAnswer; audits: RunRecord["audits"]; stderr: string; walls: string[] };

/** @throws (rejects) an Error for a component that is too large. */
async function kindOf(file: FileHandle): Promise<BinaryKind> {
  const { buffer } = await file.read(Buffer.alloc(kHeadBytes), 0, kHeadBytes, 0);
  const kind = binaryKind(buffer);
  const { size } = await file.stat();
  if (kind !== "component" || size <= kMaxComponentBytes) return kind;
  throw new Error(`it is a component larger than ${kMaxComponentBytes} bytes`);
}

async function readRequest(skill: CheckedSkill, input: string): Promise<SkillRequest> {
  const { wasmPath: given, trustTier, resourceLimits: limits } = skill;
  try {
    const wasmPath = await realpath(given);
    const kind = await withRegularFile(wasmPath, kMaxModuleBytes, kindOf);
    return { wasmPath, input, trustTier, limits, isComponent: kind === "component" };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw invalidValue(`\`wasmPath\` can't be used: ${given}: ${reason}`, cause);
  }
}

function audited({ answer, result }: EngineRun, walls: string[]): Ran {
  return { answer, audits: result.audits, stderr: new TextDecoder().decode(result.stderr), walls };
}

function fuelKeeper(cpuSeconds: number | undefined): string {
  return cpuSeconds === undefined ? "engine" : `os: ${cpuSeconds} s of CPU time`;
}

/**
 * Runs WASM skills. Verified ones run directly: in a worker of this process if the engine can enforce their
 * limits there, otherwise in a separate process. Untrusted ones run in a process in the OS sandbox, or not at
 * all. Create one executor and keep it: it holds compiled modules and workers.
 *
 * @example
 * const executor = new WasmSkillExecutor();
 * const { output } = await executor.execute(
 *   { manifest: { name: "echo" }, wasmPath: "/srv/skills/echo/echo.wasm", trustTier: "untrusted" },
 *   JSON.stringify({ question: 42 }),
 * );
 */
export class WasmSkillExecutor {
  readonly #engine: "auto" | SkillEngineName | SkillEngine;
  readonly #strictLimits: boolean;
  readonly #confinement: ConfinementOptions;
  readonly #shelf: EngineShelf;
  #isClosed = false;

  /** @throws TypeError naming the option. Starts nothing. */
  constructor(options: WasmSkillExecutorOptions = {}) {
    expectFields(options, "options", kOptions);
    const { engine, strictLimits = false, maxWorkers = availableParallelism(), cacheDir } = options;
    if (typeof strictLimits !== "boolean")
      throw invalidType("strictLimits", "a boolean", strictLimits);
    if (!Number.isInteger(maxWorkers) || maxWorkers < 1) {
      throw invalidType("maxWorkers", "an integer above 0", maxWorkers);
    }
    if (cacheDir !== undefined && (typeof cacheDir !== "string" || !cacheDir.startsWith("/"))) {
      throw invalidType("cacheDir", "an absolute path", cacheDir);
    }
    this.#engine = checkEngine(engine);
    this.#strictLimits = strictLimits;
    const { runtime, bwrapPath, environment } = options;
    this.#confinement = { runtime, bwrapPath, environment };
    const node = new NodeSkillEngine(new SkillWorkers(maxWorkers));
    this.#shelf = { node, components: new ComponentSkillEngine(), cacheDir };
  }

  /**
   * Runs a skill on an input and resolves with its output.
   *
   * @throws (rejects) SkillError if it returned no output, with a code that names the wall or limit;
   * SandboxError (ERR_SANDBOX_…) if an untrusted skill's sandbox is not available, in which case it did not
   * run; TypeError or RangeError on misuse, including a "local" skill.
   */
  async execute(
    skill: Skill,
    input: string,
    options: ExecuteSkillOptions = {},
  ): Promise<SkillExecutionResult> {
    const own = checkSkill(skill);
    const text = checkInput(input);
    expectFields(options, "options", { signal: true });
    const signal = checkSignal(options.signal);
    if (this.#isClosed) {
      throw new SkillError("the executor is closed", { code: "ERR_SKILL_ENGINE" });
    }
    const request = await readRequest(own, text);
    const strictFuel = this.#strictLimits && request.limits.maxFuel !== undefined;
    const engine = chooseEngine(this.#engine, request, this.#shelf, strictFuel);
    const enforced = this.#enforcement(engine, request);

    const began = performance.now();
    const ran = shouldUseOsSandbox(own.trustTier)
      ? await this.#inOsSandbox(engine, request, signal)
      : await this.#direct(engine, request, signal);
    return settle(ran.answer, {
      skill: own.manifest.name,
      engine: engine.name,
      durationMs: performance.now() - began,
      enforced,
      ...ran,
    });
  }

  /** Ends the workers. Later calls fail; running ones finish normally. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#shelf.node.close?.();
  }

  async #inOsSandbox(
    engine: SkillEngine,
    request: SkillRequest,
    signal: AbortSignal | undefined,
  ): Promise<Ran> {
    const { wasmPath, input, trustTier, limits, isComponent } = request;
    const config = buildConfigForSkill(wasmPath, input, trustTier, limits);
    const run = await runSandboxed(config, { ...this.#confinement, engine, isComponent, signal });
    return audited(run, ["wasm", `os:${run.runtime}`]);
  }

  async #direct(
    engine: SkillEngine,
    request: SkillRequest,
    signal: AbortSignal | undefined,
  ): Promise<Ran> {
    const answer = await engine.direct?.(request, signal);
    if (answer !== undefined) return { answer, audits: [], stderr: "", walls: ["wasm"] };
    return withPrivateDirectory(tmpdir(), async (shadowDir) => {
      const runner = new LocalNativeRunner({ shadowDir, envPolicy: "clean" });
      return audited(await runEngine(() => runner, engine, request, signal), ["wasm"]);
    });
  }

  /** @throws SkillError if `strictLimits` is set and the engine can't enforce a limit itself. */
  #enforcement(engine: SkillEngine, request: SkillRequest): SkillEnforcement {
    const { enforces, name } = engine;
    const refuse = (limit: string) => {
      throw new SkillError(`the engine ${name} can't keep a skill to its ${limit} by itself`, {
        code: "ERR_SKILL_ENGINE",
        engine: name,
        fix: "leave out strictLimits, or install wasmtime, which can",
      });
    };
    if (this.#strictLimits && !enforces.memory) refuse("memory");
    const cpuSeconds = cpuSecondsFor(engine, request);
    if (this.#strictLimits && cpuSeconds !== undefined) refuse("fuel");
    return {
      memory: enforces.memory ? "engine" : "os",
      time: enforces.time ? "engine" : "supervisor",
      output: "engine",
      ...(request.limits.maxFuel === undefined ? {} : { fuel: fuelKeeper(cpuSeconds) }),
    };
  }
}
