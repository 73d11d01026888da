/** What a run was refused of the network, for the person at the terminal. Pure. */

import type { NetworkConnection, SandboxedExecResult } from "../../types/public.js";
import { visibleLine } from "./transactions/visible-text.js";

const kMostShown = 20;

/** "a.test:443"; a name that was not even resolved has no port. */
function placeOf({ host, port }: NetworkConnection): string {
  return port === 0 ? host : `${host}:${port}`;
}

/** The option that would allow it; none where no option would, as for an address. */
function optionFor({ host, port, rule, address }: NetworkConnection): string {
  const isName = /[a-z]/i.test(host.replace(/^.*\./, "")) && !host.includes(":");
  if (!isName || rule !== undefined || address !== undefined) return "";
  const isDefault = port === 0 || port === 80 || port === 443;
  return `--allow-host ${isDefault ? host : `${host}:${port}`}`;
}

function inColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1].map((column) =>
    Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** A row for each host and port that was refused, in the order in which they were; empty for none. */
export function deniedConnections(result: SandboxedExecResult): string[] {
  const rows = new Map<string, string[]>();
  for (const connection of result.audits.flatMap(({ connections = [] }) => connections)) {
    if (connection.verdict !== "denied") continue;
    const place = placeOf(connection);
    if (rows.has(place)) continue;
    rows.set(place, [visibleLine(place), connection.reason ?? "", optionFor(connection)]);
  }
  const shown = [...rows.values()].slice(0, kMostShown);
  const left = rows.size - shown.length;
  return [
    ...inColumns(shown),
    ...(left === 0 ? [] : [`and ${left} more: see \`connections\` of --json`]),
  ];
}
