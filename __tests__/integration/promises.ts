/**
 * The table of promises that every sandboxed runner keeps. A test for a further runtime or mode is
 * one line: describePromises("its name", (options) => new ItsRunner(options)).
 */

import { afterAll, beforeAll, describe } from "vitest";

import { kernelRows } from "./promises/kernel.js";
import { networkRows, type Services, startServices } from "./promises/network.js";
import { type Promised, testRows } from "./promises/promise.js";
import { readRows } from "./promises/reads.js";
import { makeScene, type Scene } from "./promises/scene.js";
import { describeSurvival } from "./promises/survival.js";
import { writeRows } from "./promises/writes.js";
import { describeSandboxed, isRoot } from "./support/gate.js";
import type { MakeRunner } from "./support/seen.js";

export function describePromises(label: string, makeRunner: MakeRunner): void {
  describeSandboxed(label, () => {
    let scene: Scene | undefined;
    let services: Services | undefined;
    const madeScene = (): Scene => {
      if (scene === undefined) throw new Error("the scene is made in beforeAll");
      return scene;
    };
    const startedServices = (): Services => {
      if (services === undefined) throw new Error("the services are started in beforeAll");
      return services;
    };
    beforeAll(async () => {
      scene = makeScene();
      services = await startServices();
    });
    afterAll(() => services?.close());

    const describeRows = (promise: string, rows: readonly Promised[]): void => {
      describe(promise, () => testRows(rows, madeScene, makeRunner, isRoot));
    };
    describeRows("1: refuses a command that", readRows());
    describeRows("2: refuses a command that", writeRows());
    describeRows("3: refuses a command that", kernelRows());
    describeRows("4: refuses a command that", networkRows(startedServices));
    describeSurvival(madeScene, makeRunner);
  });
}
