// A session that keeps a shell's state: each step says what the one before it left, and leaves another.
// A step that is cut off must leave everything as it was. After an outcome that was not planned nothing
// is known of the state any more, and the session is closed.
import { makeCall } from "../calls/call.mjs";
import { closeSession, openSession, pickParent } from "../calls/opened-session.mjs";
import { kPatienceMs } from "../limits.mjs";

const kMostSteps = 8;
const kPlaces = ["/", "/usr", "/usr/bin", "/etc"];
const kShow = 'echo "$0 $PWD $CHAOS_STEP $CHAOS_MORE"';
const kShowInBash = `${kShow}; echo "\${chaos_list[1]-}"; chaos_say || echo`;

const shown = (token, { cwd, step }) => `${token} ${cwd} ${step} a  b'${step}\n`;
const shownInBash = (token, state) => `${shown(token, state)}${state.step} *\nsaid ${state.step}\n`;

function leave(isBash, { cwd, step }) {
  const more = isBash ? `chaos_list=(x '${step} *'); chaos_say() { echo said ${step}; };` : "";
  return `cd ${cwd}; export CHAOS_STEP=${step} CHAOS_MORE="a  b'${step}"; ${more}`;
}

/** The plan of one step from `before` to `after`: { plan, becomes }. */
function makeStep(random, token, isBash, before, after) {
  const base = { command: "shell state", throws: false, streams: false, timeoutMs: kPatienceMs };
  const program = isBash ? "bash" : "sh";
  const output = (isBash ? shownInBash : shown)(token, before);
  const show = isBash ? kShowInBash : kShow;
  const run = (script) => ({ input: { argv: [program, "-c", script, token] } });
  const drawn = random.fraction();
  if (drawn < 0.15) {
    const lost = `${show}; ${leave(isBash, { cwd: "/", step: "lost" })} sleep 1000`;
    const expected = [{ kind: "timed-out", exitCode: 124 }];
    const plan = { ...base, ...run(lost), expected, timeoutMs: random.int(1, 300), endless: true };
    return { plan, becomes: before };
  }
  if (drawn < 0.3) {
    const input = { argv: ["env", "-u", token, "pwd"] };
    const expected = [{ kind: "exited", exitCode: 0 }];
    return { plan: { ...base, input, expected, output: `${before.cwd}\n` }, becomes: before };
  }
  const exitCode = random.int(0, 3);
  const script = `${show}; ${leave(isBash, after)} exit ${exitCode}`;
  return {
    plan: { ...base, ...run(script), expected: [{ kind: "exited", exitCode }], output },
    becomes: after,
  };
}

/** One that was to be cut off loses its state by that. */
const isAsPlanned = ({ expected, endless }, end) =>
  expected.some(({ kind, exitCode }) => end.kind === kind && end.exitCode === exitCode) &&
  (endless || end.lostState === undefined);

export const shellSession = {
  name: "shell session",
  weight: 5,
  async run(context) {
    const { random } = context;
    const parent = pickParent(context);
    const slot = parent && (await openSession(context, parent, { shell: true }));
    if (slot === undefined) return;
    const isBash = random.chance(0.5);
    let step = 0;
    const nextState = () => ({ cwd: random.pick(kPlaces), step: ++step });
    const call = async (makePlan) => {
      const id = context.nextCall();
      const { plan, becomes } = makePlan(context.tokenOf(id, slot));
      const end = await makeCall(context, id, slot, plan);
      return isAsPlanned(plan, end) ? becomes : undefined;
    };
    const first = nextState();
    let state = await call((token) => ({
      plan: {
        command: "shell state",
        input: { argv: [isBash ? "bash" : "sh", "-c", leave(isBash, first), token] },
        expected: [{ kind: "exited", exitCode: 0 }],
        output: "",
        timeoutMs: kPatienceMs,
        throws: false,
      },
      becomes: first,
    }));
    for (let left = random.int(1, kMostSteps); left > 0 && state !== undefined; left -= 1) {
      const before = state;
      state = await call((token) => makeStep(random, token, isBash, before, nextState()));
    }
    await closeSession(context, slot);
  },
};
