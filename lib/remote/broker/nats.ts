/** The client of NATS: an optional peer, loaded by what speaks with other machines alone. */

import type * as Transport from "@nats-io/transport-node";

import { SandboxError } from "../../errors.js";

/** What there is of it. */
export type Nats = typeof Transport;

/** @throws (rejects) SandboxError ERR_SANDBOX_UNAVAILABLE, with the line that installs it. */
export async function loadNats(
  load: () => Promise<Nats> = () => import("@nats-io/transport-node"),
): Promise<Nats> {
  try {
    return await load();
  } catch (cause) {
    throw new SandboxError(
      "other machines need the package @nats-io/transport-node, which can't be loaded",
      {
        code: "ERR_SANDBOX_UNAVAILABLE",
        fix: "npm install @nats-io/transport-node@3",
        cause,
      },
    );
  }
}
