import type { Tool } from "../tool.js";
import { run } from "./run.js";

/** All tools, in the order in which they are listed. */
export const kTools: readonly Tool[] = [run];
