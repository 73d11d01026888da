// All platforms that can be had on this machine: engines, versions of bwrap and containers under its
// own kernel, and other kernels, each with an emulated machine.
import { bwrapSuites } from "./bwrap-suites.mjs";
import { bwraps } from "./bwraps.mjs";
import { containers } from "./containers/containers.mjs";
import { nodes, otherEngines } from "./engines.mjs";
import { machines } from "./machines/machines.mjs";
import { musl } from "./musl/musl.mjs";

const fromNpm = (platform) => ({ ...platform, how: "npm" });

function underNode({ name, program, how }) {
  return {
    name,
    how,
    words: [process.execPath],
    args: ["--bwrap", program, "--only", "bubblewrap"],
    needs: program,
    suites: bwrapSuites(program),
  };
}

/**
 * @returns {{ name: string, how?: string, slow?: true, words?: string[], args?: string[],
 * suites?: object, needs?: string, look?: (users: object[]) => Promise<object> }[]} `slow`: run by its name or with --all
 * only. `needs`: a program that whoever runs it must be able to execute. `look`, where it is not run as
 * `words` here: is given those who are to run it, and resolves with what check.mjs makes a row of.
 */
export function platforms() {
  const here = [
    ...nodes().map(fromNpm),
    ...otherEngines().map(fromNpm),
    ...bwraps().map(underNode),
  ];
  return [...here, ...musl(), ...containers(), ...machines()];
}
