import type { ConnectionMetrics, NetworkMetrics } from "../../types/metrics.js";
import type { NetworkConnection, SandboxedAuditRecord } from "../../types/public.js";

/** How many rules `byRule` tells apart; what came by others is added up as "other". */
export const kMostRules = 100;
const kOther = "other";

const nothing = (): ConnectionMetrics => ({ connections: 0, bytesOut: 0, bytesIn: 0 });

/**
 * Adds up what a runner's commands connected to. Hosts are counted by the rule that allowed them: a
 * command chooses names at will, and what it chooses must not grow here.
 */
export class NetworkCounts {
  #allowed = 0;
  #denied = 0;
  #omitted = 0;
  readonly #byRule = new Map<string, ConnectionMetrics>();

  ended({ connections, connectionsOmitted = 0 }: SandboxedAuditRecord): void {
    this.#omitted += connectionsOmitted;
    for (const connection of connections ?? []) this.#add(connection);
  }

  #add({ verdict, rule = kOther, bytesOut, bytesIn, count }: NetworkConnection): void {
    if (verdict === "denied") {
      this.#denied += count;
      return;
    }
    this.#allowed += count;
    const label = this.#byRule.has(rule) || this.#byRule.size < kMostRules ? rule : kOther;
    const counted = this.#byRule.get(label) ?? nothing();
    counted.connections += count;
    counted.bytesOut += bytesOut;
    counted.bytesIn += bytesIn;
    this.#byRule.set(label, counted);
  }

  snapshot(): NetworkMetrics {
    const byRule = [...this.#byRule].map(([rule, counted]) => [rule, { ...counted }]);
    return {
      allowed: this.#allowed,
      denied: this.#denied,
      omitted: this.#omitted,
      byRule: Object.fromEntries(byRule),
    };
  }
}
