// The ledger of one host against what was done to it: every call has exactly one outcome, or at most
// one where its host or worker was ended in mid-run, and a plausible one.
import { faultOf } from "./verdict.mjs";

/** { begin, ends, late } by call, with the host's other events. */
function read(lines) {
  const calls = new Map();
  const others = [];
  const callOf = (id) => {
    if (!calls.has(id)) calls.set(id, { begin: undefined, ends: [], late: 0 });
    return calls.get(id);
  };
  for (const line of lines) {
    if (line.event === "begin") callOf(line.call).begin = line;
    else if (line.event === "end") callOf(line.call).ends.push(line);
    else if (line.event === "late") callOf(line.call).late += 1;
    else others.push(line);
  }
  return { calls, others };
}

const overlaps = (begin, end, since, until) => since <= end.at && until >= begin.at;

function touchedBy({ strikes, replaced, closed }, begin, end) {
  const isStruck = ({ call, session, at, until }) => {
    // What a host did to one of its sessions is felt there alone.
    if (session !== undefined) return session === (begin.session ?? begin.runner);
    return call === undefined
      ? overlaps(begin, end, at, until ?? Number.POSITIVE_INFINITY)
      : call === begin.call;
  };
  return {
    struck: strikes.some(isStruck),
    replaced: replaced.some(
      ({ workspace, since, at }) =>
        workspace === begin.workspace &&
        overlaps({ at: begin.openedAt ?? begin.at }, end, since, at),
    ),
    closed: closed.some(
      ({ runner, at, beforeMs = 0 }) =>
        runner === begin.runner && overlaps(begin, end, at - beforeMs, at),
    ),
  };
}

function countFault({ begin, ends, late }, mayBeUnsettled) {
  if (begin === undefined) return "ended without a beginning";
  if (late > 0) return `${late} chunks of output after it had settled`;
  if (ends.length > 1) return `settled ${ends.length} times`;
  return ends.length === 0 && !mayBeUnsettled(begin) ? "never settled" : undefined;
}

/** A call in words: what it was to be, how long it took, and what was done to it. */
function reported(begin, end, touched) {
  const { command, runnerKind, timeoutMs, abortAfterMs } = begin ?? {};
  const plan = [command, runnerKind, `deadline ${timeoutMs} ms`];
  if (abortAfterMs !== undefined) plan.push(`abort after ${abortAfterMs} ms`);
  if (begin && end) plan.push(`took ${Math.round(end.at - begin.at)} ms`);
  plan.push(...Object.keys(touched ?? {}).filter((each) => touched[each]));
  return `(${plan.join(", ")})`;
}

/**
 * Judges a host by its ledger's lines, its fate and the strikes at it. `tally(runnerKind, outcome,
 * touched)` is called for each call: `outcome` is "unsettled" for what the end of its host or worker
 * cut off, and then `touched` (see verdict.mjs) is missing.
 */
export function judge({ lines, fate, strikes }, complaints, tally) {
  const { calls, others } = read(lines);
  const eventsOf = (event) => others.filter((line) => line.event === event);
  const workers = new Map(eventsOf("worker").map(({ worker, how }) => [worker, how]));
  const own = eventsOf("strike").map(({ runner }) => ({ session: runner }));
  const touching = {
    strikes: [...strikes, ...own],
    replaced: eventsOf("replace"),
    closed: eventsOf("close"),
  };
  const mayBeUnsettled = ({ worker }) =>
    fate !== "finished" || (worker !== undefined && workers.get(worker) !== "finished");

  for (const each of others.filter(({ refused }) => refused !== undefined)) {
    const touched = touchedBy(touching, { ...each, at: each.since }, each);
    if (!Object.values(touched).includes(true)) {
      complaints.add(each.event, `${each.runner}: untouched, and yet: ${each.refused}`);
    }
  }
  for (const [id, call] of calls) {
    const { begin, ends } = call;
    const [end] = ends;
    const touched = begin && end ? touchedBy(touching, begin, end) : undefined;
    const fault = countFault(call, mayBeUnsettled) ?? (touched && faultOf(begin, end, touched));
    if (fault !== undefined)
      complaints.add("call", `${id} ${reported(begin, end, touched)}: ${fault}`);
    tally(begin?.runnerKind, end?.kind ?? (end ? "rejected" : "unsettled"), touched);
  }
}
