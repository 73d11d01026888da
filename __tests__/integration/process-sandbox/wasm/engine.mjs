// A WASM engine as a command: node engine.mjs FOLDER MODULE. The module gets FOLDER as its "/".
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const [folder, module] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", preopens: { "/": folder }, returnOnExit: true });
const { instance } = await WebAssembly.instantiate(await readFile(module), wasi.getImportObject());
process.exitCode = wasi.start(instance);
