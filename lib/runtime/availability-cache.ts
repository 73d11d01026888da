import { findAvailability } from "./availability.js";
import { withCause } from "./cause.js";
import type { RuntimeConfig } from "./config/config.js";
import type { RuntimeKind } from "./kinds/kind.js";
import type { RuntimeAvailability } from "./runtime.js";

/** Remembers what was found out for a runtime and a policy; one proof serves all who wait for it. */
export class AvailabilityCache {
  readonly #known = new Map<string, Promise<RuntimeAvailability>>();

  readonly #find: typeof findAvailability;

  /** @param find for tests. */
  constructor(find = findAvailability) {
    this.#find = find;
  }

  async get(
    kind: RuntimeKind,
    config: RuntimeConfig,
    refresh = false,
  ): Promise<RuntimeAvailability> {
    const key = JSON.stringify([kind.name, kind.policy(config)]);
    const known = refresh ? undefined : this.#known.get(key);
    const answer = known ?? this.#find(kind, config);
    this.#known.set(key, answer);
    const found = await answer;
    return withCause(structuredClone(found), found.cause);
  }

  clear(): void {
    this.#known.clear();
  }
}

/** What this Node environment knows: hosts do not change often, and a proof costs some runs. */
const processCache = new AvailabilityCache();

/** See {@link AvailabilityCache.get}. */
export function availabilityOf(
  kind: RuntimeKind,
  config: RuntimeConfig,
  refresh?: boolean,
): Promise<RuntimeAvailability> {
  return processCache.get(kind, config, refresh);
}

/** Forgets which runtimes work here, for when the host was changed: the next question asks it anew. */
export function forgetAvailability(): void {
  processCache.clear();
}
