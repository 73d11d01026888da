// The Node process that one variant lives in: argv[2] is { module, setup, holdBytes } as JSON,
// each message is a burst, each answer its measurements or an error.

import { burst } from "./burst.mjs";
import { touchedBuffers } from "./memory.mjs";

const { module, setup, holdBytes } = JSON.parse(process.argv[2]);
const { open } = await import(new URL(`../variants/${module}`, import.meta.url).href);
const variant = await open(setup);
// What starts no command (the shell lists) brings a burst of its own.
const measure = variant.burst ?? ((request) => burst(variant, request));
// Reachable from the global object, so that the collector keeps it.
globalThis.heldBuffers = touchedBuffers(holdBytes);

process.on("message", async (request) => {
  try {
    process.send({ measured: await measure(request) });
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
});
process.on("disconnect", () => process.exit());
process.send({ ready: true });
