/** What a call of the files' is refused with. */

import { expect } from "vitest";

/** The error's fields that programs look at; undefined when nothing was refused. */
export type Refusal = {
  name: string;
  code?: string;
  errno?: number;
  syscall?: string;
  path?: string;
  dest?: string;
  message: string;
};

export async function refusalOf(call: Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
    const { name, message } = error as Error;
    return { ...(error as object), name, message };
  }
}

/** The code alone. */
export const codeOf = async (call: Promise<unknown>): Promise<string | undefined> =>
  (await refusalOf(call))?.code;
