/** What the tests use of wabt (https://github.com/AssemblyScript/wabt.js), which has no types. */
declare module "wabt" {
  type WasmModule = {
    toBinary(options: object): { buffer: Uint8Array<ArrayBuffer> };
    destroy(): void;
  };
  type Wabt = { parseWat(name: string, text: string, features?: object): WasmModule };
  function load(): Promise<Wabt>;
  export = load;
}
