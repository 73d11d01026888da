/**
 * The text form of component values in which `wasmtime run --invoke` takes arguments and prints
 * results (WAVE, https://github.com/bytecodealliance/wasm-tools/tree/main/crates/wasm-wave), as far
 * as strings and results of strings go. Pure.
 */

const kEscapes: Readonly<Record<string, string>> = {
  "\\": "\\",
  '"': '"',
  "'": "'",
  t: "\t",
  n: "\n",
  r: "\r",
};

/** A string as a WAVE literal. */
export function waveString(text: string): string {
  const quoted = text.replace(/["\\\p{Cc}]/gu, (character) => {
    if (character === '"' || character === "\\") return `\\${character}`;
    return `\\u{${character.charCodeAt(0).toString(16)}}`;
  });
  return `"${quoted}"`;
}

/** What a WAVE string literal says; undefined when it is none. */
export function readWaveString(literal: string): string | undefined {
  const [, body] = /^"((?:[^"\\\n]|\\.)*)"$/su.exec(literal) ?? [];
  if (body === undefined) return undefined;
  let isValid = true;
  const text = body.replace(/\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))/gsu, (_, code, character) => {
    if (code !== undefined) {
      const point = Number.parseInt(code, 16);
      if (point <= 0x10ffff && (point < 0xd800 || point > 0xdfff))
        return String.fromCodePoint(point);
    } else if (Object.hasOwn(kEscapes, character)) {
      return kEscapes[character] ?? "";
    }
    isValid = false;
    return "";
  });
  return isValid ? text : undefined;
}

/** A `result<string, string>`, alone in its text but for white space; undefined when it is none. */
export function readWaveResult(text: string): { ok: boolean; value: string } | undefined {
  const [, tag, literal = ""] = /^(ok|err)\((.*)\)$/su.exec(text.trim()) ?? [];
  const value = readWaveString(literal);
  return tag === undefined || value === undefined ? undefined : { ok: tag === "ok", value };
}
