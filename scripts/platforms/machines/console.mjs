// What an emulated machine wrote to its console, in parts: guest/init frames each piece of work with
// two lines that begin with "@@". Pure.

/**
 * @param output all of the console's.
 * @returns {{ kernel: string | undefined, isDone: boolean, parts: { work: string, user: string,
 * output: string, code: number | undefined }[] }} `code` is undefined of a part that has not ended.
 */
export function readConsole(output) {
  const parts = [];
  let kernel;
  let isDone = false;
  for (const line of output.split(/\r*\n/)) {
    // The firmware leaves codes of its own in front of the first line.
    const [, word, rest = ""] = /@@ (kernel|begin|end|done) ?(.*)/.exec(line) ?? [];
    const last = parts.at(-1);
    if (word === "kernel") kernel = rest;
    else if (word === "done") isDone = true;
    else if (word === "begin") {
      const [work, user] = rest.split(" ");
      parts.push({ work, user, output: "", code: undefined });
    } else if (word === "end" && last !== undefined) last.code = Number(rest.split(" ")[2]);
    else if (last !== undefined && last.code === undefined) last.output += `${line}\n`;
  }
  return { kernel, isDone, parts };
}
