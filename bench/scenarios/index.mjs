// The suite, in the order in which it is measured and reported.

import { droppedOutput } from "./dropped-output.mjs";
import { eightAtOnce } from "./eight-at-once.mjs";
import { keptOutput } from "./kept-output.mjs";
import { landlock } from "./landlock.mjs";
import { largeHost } from "./large-host.mjs";
import { oneRun } from "./one-run.mjs";
import { drained, prewarmed, prewarmedLargeHost } from "./prewarmed.mjs";
import { shellLists } from "./shell-lists.mjs";
import { skill } from "./skill.mjs";

export const kScenarios = [
  ...[oneRun, eightAtOnce, largeHost, droppedOutput, keptOutput],
  ...[prewarmed, drained, prewarmedLargeHost],
  ...[landlock, shellLists, skill],
];
