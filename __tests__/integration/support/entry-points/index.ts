/** Every place at which the package takes an object. */

import type { EntryPoint, Host } from "./entry-point.js";
import { processSandboxPoints, projectPoints, runtimePoints } from "./hosts.js";
import { filePoints, runnerPoints, runPoints } from "./runners.js";
import { skillPoints } from "./skills.js";

export type { EntryPoint, Host } from "./entry-point.js";

export const entryPoints = (host: Host): EntryPoint[] => [
  ...runnerPoints(host),
  ...filePoints(host),
  ...runPoints(host),
  ...processSandboxPoints(),
  ...runtimePoints(host),
  ...projectPoints(host),
  ...skillPoints(host),
];
