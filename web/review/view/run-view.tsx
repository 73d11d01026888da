/** The commands that made a change: their arguments, outcomes, usage, denials and connections. */

import type { ReviewRun } from "../model.js";
import { commandWords, durationWords, outcomeWords, shown, sizeWords } from "../words.js";

function Run({ run }: { run: ReviewRun }) {
  const { usage, denials, connections } = run;
  const used = [
    durationWords(run.durationMs),
    `${durationWords(usage.userCpuMs + usage.systemCpuMs)} of CPU`,
    usage.peakMemoryBytes ? `${sizeWords(usage.peakMemoryBytes)} of memory` : "",
  ].filter(Boolean);
  return (
    <li class="run">
      <code>{commandWords(run.command)}</code>
      <p>
        <span class={run.outcome === "exited" && run.exitCode === 0 ? "good" : "bad"}>
          {outcomeWords(run)}
        </span>{" "}
        at <time dateTime={run.startedAt}>{new Date(run.startedAt).toLocaleTimeString()}</time>,{" "}
        {used.join(", ")}, {run.runtime}
      </p>
      {denials.length > 0 && (
        <ul>
          {denials.map((denial, at) => (
            <li key={at}>
              <span class="bad">refused</span> {denial.operation}{" "}
              {shown(denial.path ?? denial.host ?? "")} {denial.errno} by {denial.by}
              {denial.grant?.cli && (
                <>
                  ; <code>{shown(denial.grant.cli)}</code> would allow it
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      {connections.length > 0 && (
        <ul>
          {connections.map((connection, at) => (
            <li key={at}>
              <span class={connection.verdict === "allowed" ? "good" : "bad"}>
                {connection.verdict === "allowed" ? "connected to" : "refused"}
              </span>{" "}
              {shown(connection.host)}:{connection.port}, {sizeWords(connection.bytesOut)} out,{" "}
              {sizeWords(connection.bytesIn)} in
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

const kMost = 200;

/** @param runs the runs of one change, or all runs */
export function RunView({ runs, title }: { runs: readonly ReviewRun[]; title: string }) {
  const last = runs.slice(-kMost).reverse();
  return (
    <details class="runs">
      <summary>
        {title}: {runs.length}
      </summary>
      <ol reversed>
        {last.map((run) => (
          <Run key={run.id} run={run} />
        ))}
      </ol>
      {runs.length > kMost && <p>Only the last {kMost} are shown.</p>}
    </details>
  );
}
