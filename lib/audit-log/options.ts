/** The options of a log, checked. */

import type { KeyObject } from "node:crypto";

import type { AuditLogOptions } from "../../types/audit-log.js";
import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { privateKeyOf } from "./keys.js";

const kOptions: FieldsOf<AuditLogOptions> = {
  key: true,
  signEvery: true,
  maxBytes: true,
  onError: true,
};

const kSignEvery = 64;
const kLeastMaxBytes = 4096;

/** What a log is written by. */
export type CheckedOptions = {
  key: KeyObject | undefined;
  signEvery: number;
  /** `Infinity` where none is named. */
  maxBytes: number;
  onError: (error: Error) => void;
};

function integer(value: unknown, field: string, least: number, absent: number): number {
  if (value === undefined) return absent;
  if (typeof value !== "number") throw invalidType(field, `an integer from ${least} on`, value);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw invalidValue(`Expected \`${field}\` to be an integer from ${least} on, got ${value}`);
}

const warn = (error: Error) => process.emitWarning(error.message, "AuditLogWarning");

/** Never throws: what the caller's function throws is raised where nothing of ours is under way. */
function callback(value: unknown): (error: Error) => void {
  if (value === undefined) return warn;
  if (typeof value !== "function") throw invalidType("onError", "a function", value);
  return (error) => {
    try {
      value(error);
    } catch (thrown) {
      queueMicrotask(() => {
        throw thrown;
      });
    }
  };
}

/** @throws TypeError or RangeError that names the option. */
export function checkedOptions(options: AuditLogOptions): CheckedOptions {
  expectFields(options, "options", kOptions);
  const { key, signEvery, maxBytes, onError } = options;
  return {
    key: key === undefined ? undefined : privateKeyOf(key),
    signEvery: integer(signEvery, "signEvery", 1, kSignEvery),
    maxBytes: integer(maxBytes, "maxBytes", kLeastMaxBytes, Number.POSITIVE_INFINITY),
    onError: callback(onError),
  };
}
