// All platforms that can be had on this machine: engines, and versions of bwrap under this Node.js.
import { bwraps } from "./bwraps.mjs";
import { nodes, otherEngines } from "./engines.mjs";

const fromNpm = (platform) => ({ ...platform, how: "npm" });

function underNode({ name, program, how }) {
  return {
    name,
    how,
    words: [process.execPath],
    args: ["--bwrap", program, "--only", "bubblewrap"],
    needs: program,
  };
}

/**
 * @returns {{ name: string, how: string, words: string[], args?: string[], node?: string,
 * needs?: string }[]} `needs`: a program that whoever runs it must be able to execute.
 */
export function platforms() {
  return [...nodes().map(fromNpm), ...otherEngines().map(fromNpm), ...bwraps().map(underNode)];
}
