import load from "wabt";

const loaded = load();

/** A module from its text form. */
export async function wat(text: string, features: object = {}): Promise<Uint8Array<ArrayBuffer>> {
  const wabt = await loaded;
  const module = wabt.parseWat("module.wat", text, features);
  try {
    return new Uint8Array(module.toBinary({}).buffer);
  } finally {
    module.destroy();
  }
}
