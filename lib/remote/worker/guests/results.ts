/** Results on the wire: all of one but its output, which travels as bytes. Pure. */

import type { SandboxedExecResult } from "../../../../types/public.js";

/** What is told of a result besides its output. */
export function resultShape(result: SandboxedExecResult): object {
  const { stdout: _stdout, stderr: _stderr, ...told } = result;
  return told;
}
