/** Keys of a configuration as they were written, and as the schema knows them. */

import { invalidValue } from "../../errors.js";

/** A value with its keys in camelCase. */
export type CamelKeys = {
  value: unknown;
  /** How a key was written, by its camelCase path joined with dots. */
  written: ReadonlyMap<string, string>;
};

const camelCase = (key: string) =>
  key.replace(/_+([a-z0-9])/g, (_, letter) => letter.toUpperCase());

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws TypeError when a key is there in both spellings. */
export function camelKeys(value: unknown): CamelKeys {
  const written = new Map<string, string>();
  const convert = (inner: unknown, path: string): unknown => {
    if (Array.isArray(inner)) {
      return inner.map((element, index) => convert(element, `${path}.${index}`));
    }
    if (!isRecord(inner)) return inner;
    const copy: Record<string, unknown> = Object.create(null);
    for (const [key, field] of Object.entries(inner)) {
      if (field === undefined) continue; // left out
      const name = camelCase(key);
      const place = path === "" ? name : `${path}.${name}`;
      const other = written.get(place);
      if (other !== undefined) {
        throw invalidValue(`\`${other}\` and \`${key}\` are the same setting; leave one out`);
      }
      written.set(place, key);
      Object.defineProperty(copy, name, { value: convert(field, place), enumerable: true });
    }
    return copy;
  };
  return { value: convert(value, ""), written };
}
