// The Node process that one variant lives in: argv[2] is { subject, name, setup, holdBytes } as
// JSON, each message is a burst or a single run, each answer its measurements or an error.

import { burst, touchedBuffers } from "./bursts.mjs";

const kCloseMs = 10_000;

const { subject, name, setup, holdBytes } = JSON.parse(process.argv[2]);
// No other subject's: what they import would be in the memory that is measured.
const { variants } = await import(new URL(`./subjects/${subject}.mjs`, import.meta.url).href);
const { open, options } = variants[name];
const variant = await open({ ...setup, ...options });
// What starts no command (the shell lists) brings a burst of its own.
const measure = variant.burst ?? ((request) => burst(variant, request));
// Reachable from the global object, so that the collector keeps it.
globalThis.heldBuffers = touchedBuffers(holdBytes);

/** Output as text, for what is asked rather than measured. */
async function tell(argv) {
  const limits = { maxStdoutBytes: 65_536, maxStderrBytes: 65_536, timeoutMs: 30_000 };
  const { exitCode, stdout, stderr } = await variant.exec({ argv, limits });
  const [out, err] = [stdout, stderr].map((bytes) => Buffer.from(bytes).toString());
  return { exitCode, stdout: out, stderr: err };
}

process.on("message", async (request) => {
  try {
    process.send({ answer: request.tell ? await tell(request.tell) : await measure(request) });
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
});
process.on("disconnect", async () => {
  setTimeout(() => process.exit(1), kCloseMs);
  await variant.close?.();
  process.exit();
});
process.send({ ready: true });
