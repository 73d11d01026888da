/** Signs of life of a call, for clients that want them: they give up after a minute without any. */

import type { ServerContext } from "@modelcontextprotocol/server";

export const kHeartbeatMs = 10_000;

export type Heartbeat = { tell(message: string): void; stop(): void };

/** Begins at once; says how long it has gone on, and what `tell` is given. */
export function startHeartbeat(request: ServerContext["mcpReq"], everyMs: number): Heartbeat {
  const token = request._meta?.progressToken;
  if (token === undefined) return { tell: () => {}, stop: () => {} };
  const start = performance.now();
  let progress = 0;
  let isOver = false;
  const tell = (message: string) => {
    if (isOver || request.signal.aborted) return;
    progress += 1; // has to grow
    request
      .notify({
        method: "notifications/progress",
        params: { progressToken: token, progress, message },
      })
      .catch(() => {}); // the client has gone
  };
  const timer = setInterval(() => {
    tell(`goes on for ${Math.round((performance.now() - start) / 1000)} s`);
  }, everyMs);
  return {
    tell,
    stop: () => {
      isOver = true;
      clearInterval(timer);
    },
  };
}
