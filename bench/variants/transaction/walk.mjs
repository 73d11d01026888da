// A C program that looks at each name in the upper directory of the variant `changes`.

import { realpath } from "node:fs/promises";

import { burstOf, compiled } from "../../compiled.mjs";
import { upperLink } from "./changes.mjs";
import { placeOf } from "./place.mjs";

export async function open({ workspace }) {
  const program = await compiled(new URL("./transaction-floor.c", import.meta.url));
  const upper = await realpath(upperLink(await placeOf(workspace, "changes")));
  return { burst: ({ runs }) => burstOf(program, ["walk", runs, upper]) };
}
