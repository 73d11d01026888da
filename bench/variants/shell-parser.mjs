// The parser that the check is built on, by itself.

import { parse } from "unbash";

import { timed } from "./shell-commands.mjs";

export function open() {
  return { burst: timed(parse) };
}
