/**
 * Turns a component into JavaScript and core modules with the toolchain that the request names, in a separate
 * process, in the sandbox for untrusted skills. Runs no code of the component.
 */

import { readFileSync } from "node:fs";

import { writeAll } from "./answer.mjs";

/** The request: one JSON object on standard input. */
export type TranspileRequest = {
  /** URL of the toolchain's module. */
  toolchain: string;
  /** The component in base64. */
  component: string;
};

/** The answer: one JSON object on standard output; `error` if it is not a component that can be a skill. */
type TranspileAnswer = { error: string } | TranspiledComponent;

export type TranspiledComponent = {
  javascript: string;
  /** Core modules by name, in base64. */
  modules: Record<string, string>;
};

/** The used part of `@bytecodealliance/jco-transpile/component`. */
type Toolchain = {
  $init: Promise<void>;
  generate(
    component: Uint8Array,
    options: Record<string, unknown>,
  ): { files: [string, Uint8Array][]; imports: string[]; exports: [string, string][] };
};

async function transpile(request: TranspileRequest): Promise<TranspileAnswer> {
  const { $init, generate } = (await import(request.toolchain)) as Toolchain;
  await $init;
  const { files, imports, exports } = generate(Buffer.from(request.component, "base64"), {
    name: "skill",
    noTypescript: true,
    noNodejsCompat: true,
    base64Cutoff: 0,
    instantiation: { tag: "async" },
    map: [],
  });
  if (imports.length > 0) {
    return { error: `it imports ${imports.join(", ")}; here a component has no imports` };
  }
  if (!exports.some(([name, kind]) => name === "execute" && kind === "function")) {
    return { error: "it exports no function execute" };
  }
  const script = files.find(([name]) => name.endsWith(".js"));
  if (script === undefined) return { error: "the toolchain made no JavaScript of it" };
  const modules = files.filter(([name]) => name.endsWith(".wasm"));
  return {
    javascript: Buffer.from(script[1]).toString(),
    modules: Object.fromEntries(
      modules.map(([name, bytes]) => [name, Buffer.from(bytes).toString("base64")]),
    ),
  };
}

const request = JSON.parse(readFileSync(0, "utf8")) as TranspileRequest;
const answer = await transpile(request).catch((error: unknown): TranspileAnswer => {
  return { error: error instanceof Error ? error.message : String(error) };
});
writeAll(JSON.stringify(answer));
