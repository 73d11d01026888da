import type { AuditGrant } from "../../../types/audit-log.js";
import type { Denial, Grant } from "../../../types/public.js";
import type { AuditLog } from "../../audit-log/audit-log.js";

/** Records what was granted for denials, as far as the command line has an option for it; each once. */
export function recordGrants(
  auditLog: AuditLog | undefined,
  denials: readonly Denial[],
  how: Omit<AuditGrant, "option" | "value">,
): void {
  const byOption = new Map<string, Grant>();
  for (const { grant } of denials) if (grant?.cli) byOption.set(grant.cli, grant);
  for (const { option, value } of byOption.values()) auditLog?.grant({ option, value, ...how });
}
