/** Engines that keep fewer limits by themselves; the operating system keeps the rest. */

import type { ExternalEngine } from "./external.js";

const kNothing = { fuel: false, memory: false, time: false, wasi: true, components: false };

/** Wasmer's command line has no limits. */
export const kWasmer: ExternalEngine = {
  name: "wasmer",
  enforces: kNothing,
  args: ({ wasmPath }) => ["run", wasmPath],
  words: [],
};

/** WasmEdge, 0.11 or newer. */
export const kWasmEdge: ExternalEngine = {
  name: "wasmedge",
  enforces: { fuel: true, memory: true, time: true, wasi: true, components: false },
  args: ({ wasmPath, limits }) => [
    "--memory-page-limit",
    String(Math.floor(limits.maxMemoryBytes / 65_536)),
    "--time-limit",
    String(Math.ceil(limits.maxDurationMs)),
    ...(limits.maxFuel === undefined ? [] : ["--gas-limit", String(limits.maxFuel)]),
    "--",
    wasmPath,
  ],
  words: [
    ["fuel", /cost limit exceeded/i],
    ["time", /execution timeout|timeout/i],
    ["memory", /memory (page|size).*exceed|exceed.*memory/i],
  ],
};

/** The interpreter of the WebAssembly Micro Runtime. */
export const kIwasm: ExternalEngine = {
  name: "iwasm",
  enforces: kNothing,
  args: ({ wasmPath }) => [wasmPath],
  words: [],
};
