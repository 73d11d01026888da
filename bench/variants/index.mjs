// What is measured. A variant with a module runs in a Node process of its own, `options` being what
// its module is opened with; one without is the C program floor.c, started for each burst.
//   kind    whose it is, which is how plots colour it: ours, floor, same-bwrap or peer
//   share   of a burst's runs, for what is so slow that the suite would take too long
//   startsNothing  it runs no command
//   isUnconfined  it has no sandbox, so ours is not compared with it
//   isolatesAs  the variant whose sandbox this one has, where it can't be asked itself

const kPrewarmed = 8;
const kPoolSizes = [2, 4, 8, 16];

const kCold = { prewarm: 0, clone: "never" };
const kCloned = { prewarm: 0, clone: "auto" };

const kTransaction = { kind: "ours", module: "transaction/run.mjs" };

const kOneName = { allow: ["a.test"] };

const pools = Object.fromEntries(
  kPoolSizes.map((prewarm) => [
    `pool${prewarm}`,
    {
      title: `pool of ${prewarm}`,
      kind: "ours",
      module: "ours.mjs",
      options: { prewarm, clone: "auto" },
    },
  ]),
);

const explained = Object.fromEntries(
  ["status", "many", "build"].flatMap((work) => [
    [
      `${work}Explained`,
      {
        title: "explained",
        kind: "ours",
        module: "explain/work.mjs",
        options: { work, explain: true },
      },
    ],
    [
      `${work}Plain`,
      {
        title: "not explained",
        kind: "floor",
        module: "explain/work.mjs",
        options: { work, explain: false },
      },
    ],
  ]),
);

const reviewed = Object.fromEntries(
  [
    ["reviewPaint", "the list of changes", "paint"],
    ["reviewScroll", "scrolling", "scroll"],
    ["reviewFile", "a large file", "file"],
  ].map(([name, title, what]) => [
    name,
    { title, kind: "ours", module: "review/page.mjs", options: { what } },
  ]),
);

export const kVariants = {
  ours: { title: "ours, cold", kind: "ours", module: "ours.mjs", options: kCold },
  cloned: { title: "ours, cloned", kind: "ours", module: "ours.mjs", options: kCloned },
  prewarmed: {
    title: "ours, prewarmed",
    kind: "ours",
    module: "ours.mjs",
    options: { prewarm: kPrewarmed, clone: "auto" },
  },
  crowdCold: {
    title: "ours, cold, 64 at once",
    kind: "ours",
    module: "ours.mjs",
    options: { ...kCold, maxConcurrent: 64 },
  },
  crowdCloned: {
    title: "ours, cloned, 64 at once",
    kind: "ours",
    module: "ours.mjs",
    options: { ...kCloned, maxConcurrent: 64 },
  },
  cloneRates: { title: "ours, cloned, at all rates", kind: "ours", module: "clones/rates.mjs" },
  firstRun: {
    title: "a runner's first run",
    kind: "ours",
    module: "clones/first-run.mjs",
    options: { options: {} },
  },
  firstColdRun: {
    title: "the same, cold",
    kind: "ours",
    module: "clones/first-run.mjs",
    options: { options: kCold },
  },
  session: {
    title: "ours, session",
    kind: "ours",
    module: "session.mjs",
    options: { runtime: "bubblewrap" },
  },
  landlock: { title: "ours, Landlock", kind: "ours", module: "landlock.mjs" },
  landlockSession: {
    title: "ours, Landlock session",
    kind: "ours",
    module: "session.mjs",
    options: { runtime: "landlock" },
  },
  floor: { title: "C floor, same bwrap", kind: "floor", isolatesAs: "childProcess" },
  childProcess: {
    title: "child_process, same bwrap",
    kind: "same-bwrap",
    module: "child-process.mjs",
  },
  execa: {
    title: "execa, same bwrap",
    kind: "same-bwrap",
    module: "execa.mjs",
    isolatesAs: "childProcess",
  },
  firejail: { title: "firejail", kind: "peer", module: "firejail.mjs", share: 0.2 },
  sandboxRuntime: {
    title: "sandbox-runtime",
    kind: "peer",
    module: "sandbox-runtime.mjs",
    share: 0.2,
  },
  bare: {
    title: "C, no sandbox",
    kind: "floor",
    isUnconfined: true,
    options: { bare: true },
  },
  bareChildProcess: {
    title: "child_process, no sandbox",
    kind: "same-bwrap",
    isUnconfined: true,
    module: "bare-child-process.mjs",
  },
  ...pools,
  shellLists: { title: "our shell lists", kind: "ours", module: "shell-lists.mjs" },
  shellParser: {
    title: "unbash alone",
    kind: "peer",
    startsNothing: true,
    module: "shell-parser.mjs",
  },
  skillSandboxed: { title: "our sandboxed skill", kind: "ours", module: "skill-sandboxed.mjs" },
  skillProcess: { title: "our skill process", kind: "ours", module: "skill-process.mjs" },
  skillWorker: { title: "our skill worker", kind: "ours", module: "skill-worker.mjs" },
  transacted: { ...kTransaction, title: "ours, in a transaction", options: kCold },
  transactedPrewarmed: {
    ...kTransaction,
    title: "ours, prewarmed in a transaction",
    options: { prewarm: kPrewarmed },
  },
  transactionOpen: {
    title: "openTransaction()",
    kind: "ours",
    module: "transaction/open.mjs",
  },
  transactionChanges: { title: "changes()", kind: "ours", module: "transaction/changes.mjs" },
  transactionWalk: { title: "C walk", kind: "floor", module: "transaction/walk.mjs" },
  transactionCommit: { title: "commit()", kind: "ours", module: "transaction/commit.mjs" },
  transactionExchange: {
    title: "C exchange and syncfs",
    kind: "floor",
    module: "transaction/exchange.mjs",
  },
  transactionDiff: { title: "diff()", kind: "ours", module: "transaction/diff.mjs" },
  gitDiff: { title: "git diff --no-index", kind: "floor", module: "transaction/git-diff.mjs" },
  byDomain: {
    title: "ours, network by domain",
    kind: "ours",
    module: "ours.mjs",
    options: { ...kCold, network: kOneName },
  },
  byDomainPrewarmed: {
    title: "ours, prewarmed, network by domain",
    kind: "ours",
    module: "ours.mjs",
    options: { prewarm: kPrewarmed, clone: "auto", network: kOneName },
  },
  networkRelay: { title: "our relay", kind: "ours", module: "network/relay.mjs" },
  networkSplice: { title: "C, splice", kind: "floor", module: "network/relay-splice.mjs" },
  networkPipe: {
    title: "Node's pipe()",
    kind: "peer",
    startsNothing: true,
    module: "network/relay-pipe.mjs",
  },
  networkRequest: { title: "our request", kind: "ours", module: "network/request.mjs" },
  ...reviewed,
  remoteNoop: { title: "our dispatch", kind: "ours", module: "remote/noop.mjs" },
  claimNoop: { title: "JetStream and claims", kind: "floor", module: "remote/claim/noop.mjs" },
  remoteRun: { title: "on a worker", kind: "ours", module: "remote/run.mjs" },
  remoteSession: {
    title: "a session on a worker",
    kind: "ours",
    module: "remote/run.mjs",
    options: { isSession: true },
  },
  remoteRates: {
    title: "a pool",
    kind: "ours",
    module: "remote/rates.mjs",
    options: { where: "remote" },
  },
  localRates: {
    title: "this process",
    kind: "floor",
    module: "remote/rates.mjs",
    options: { where: "local" },
  },
  remoteOutput: { title: "our output", kind: "ours", module: "remote/output.mjs" },
  bareOutput: {
    title: "publish and subscribe",
    kind: "floor",
    module: "remote/output.mjs",
    options: { isBare: true },
  },
  remoteWorkspace: {
    title: "moved by content, and run",
    kind: "ours",
    module: "remote/workspace/moved.mjs",
  },
  rsyncWorkspace: {
    title: "rsync's daemon",
    kind: "floor",
    module: "remote/workspace/rsync.mjs",
  },

  mcpRun: { title: "run of native-runner mcp", kind: "ours", module: "mcp/run.mjs" },
  skillNode: { title: "bare engine process", kind: "same-bwrap", module: "skill-node.mjs" },
  ...explained,
  auditChained: {
    title: "chained",
    kind: "ours",
    module: "audit/record.mjs",
    options: { how: "chained" },
  },
  auditSigned: {
    title: "chained and signed",
    kind: "ours",
    module: "audit/record.mjs",
    options: { how: "signed" },
  },
  auditPlain: {
    title: "plain lines",
    kind: "floor",
    module: "audit/record.mjs",
    options: { how: "plain" },
  },
  auditRate: { title: "chained, at a rate", kind: "ours", module: "audit/rate.mjs" },
  auditVerify: {
    title: "the chain",
    kind: "ours",
    module: "audit/verify.mjs",
    options: { isSigned: false },
  },
  auditVerifySigned: {
    title: "the chain and signatures",
    kind: "ours",
    module: "audit/verify.mjs",
    options: { isSigned: true },
  },
};

/** Ours without standing sandboxes, and with more and more of them. */
export const poolVariants = ["ours", ...Object.keys(pools)];

/** Why a variant can't run here, or undefined. */
export async function whyMissing(name) {
  const { module, options = {} } = kVariants[name];
  if (module === undefined) return undefined;
  const { missing } = await import(new URL(module, import.meta.url).href);
  return missing?.(options);
}
