/** Records as one page: no script, nothing from elsewhere, and every text escaped. Pure. */

import type { AuditEntry, AuditVerification } from "../../../types/audit-log.js";
import { counted } from "../transactions/change-text.js";
import { visibleText } from "../transactions/visible-text.js";
import { endText, entryText } from "./entry-text.js";

const kEscapes: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string) =>
  visibleText(text).replace(/[&<>"']/g, (character) => kEscapes[character] ?? "");

const kStyle = `
:root { color-scheme: light dark; --line: #8884; --bad: #b3261e; --good: #146c2e; --dim: #5f6368 }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7bd88f; --dim: #a8adb3 } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 80rem; margin: 0 auto; padding: 1.5rem 1rem }
h1 { font-size: 1.5rem; margin: 0 0 .5rem }
p { margin: .25rem 0 } .bad { color: var(--bad) } .good { color: var(--good) } .dim { color: var(--dim) }
code, pre, summary .what { font-family: ui-monospace, monospace; font-size: .875rem }
code, .what { overflow-wrap: anywhere }
ol { list-style: none; margin: 1.5rem 0 0; padding: 0 } li { border-top: 1px solid var(--line) }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: .25rem .75rem; padding: .5rem .25rem }
summary:focus-visible { outline: 2px solid Highlight; outline-offset: -2px }
summary::before { content: "▸"; width: 1em } details[open] > summary::before { content: "▾" }
summary .what { flex: 1 1 20rem } time { white-space: nowrap; color: var(--dim) }
.kind { font-weight: 600; min-width: 6.5rem } .seq { min-width: 4ch; text-align: right }
.seq, time { font-variant-numeric: tabular-nums }
pre { margin: 0 0 .75rem 1.75rem; padding: .75rem; background: #8881; overflow-x: auto; border-radius: .25rem }
`;

/** The page up to its first record. `found`: of the whole log. */
export function htmlHead(path: string, found: AuditVerification): string {
  const told = found.ok
    ? '<p class="good">The chain of hashes is whole.</p>'
    : `<p class="bad">The log was changed: ${counted(found.problems.length + found.problemsOmitted, "problem")}.</p>`;
  const problems = found.problems
    .map(
      ({ kind, file, line, message }) =>
        `<li class="bad">${escaped(`${kind} ${file}:${line}: ${message}`)}</li>`,
    )
    .join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Audit log ${escaped(path)}</title>
<style>${kStyle}</style>
</head>
<body>
<main>
<h1>Audit log <code>${escaped(path)}</code></h1>
<p>${counted(found.records, "record")} in ${counted(found.files.length, "file")}; head <code>${found.head ?? "none"}</code></p>
${told}
<p class="dim">This page is a copy. What proves something is the log itself: <code>native-runner audit verify</code>.</p>
${problems === "" ? "" : `<ul>${problems}</ul>`}
<ol>
`;
}

/** One record. */
export function htmlEntry(entry: AuditEntry): string {
  const end = endText(entry);
  const isBad = entry.kind === "run" ? end !== "exited 0" : end !== "" && end !== "done";
  const ended = end === "" ? "" : `<span class="${isBad ? "bad" : "good"}">${escaped(end)}</span>`;
  return `<li><details><summary><span class="seq dim">${entry.seq}</span>
<time datetime="${escaped(entry.at)}">${escaped(entry.at.replace("T", " ").replace(/\.\d+Z$/, "Z"))}</time>
<span class="kind">${escaped(entry.kind)}</span> <span class="what">${escaped(entryText(entry))}</span> ${ended}</summary>
<pre tabindex="0">${escaped(JSON.stringify(entry, null, 2))}</pre></details></li>
`;
}

/** The rest of the page. */
export const htmlEnd = (): string => "</ol>\n</main>\n</body>\n</html>\n";
