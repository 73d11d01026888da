/** Wrong values for every option and field of the input: which, and what they are refused with. */

export const kType = "ERR_INVALID_ARG_TYPE";
export const kValue = "ERR_INVALID_ARG_VALUE";
export const kRange = "ERR_OUT_OF_RANGE";

export type Wrong = [field: string, change: Record<string, unknown>, code: string];

const limit = (name: string): Wrong[] =>
  [
    ["1", kType],
    [1n, kType],
    [null, kType],
    [true, kType],
    [{}, kType],
    [-1, kRange],
    [1.5, kRange],
    [Number.NaN, kRange],
    [Number.POSITIVE_INFINITY, kRange],
    [2 ** 60, kRange],
  ].map(([value, code]) => [`limits.${name}`, { limits: { [name]: value } }, String(code)]);

const kLimits = [
  "maxStdoutBytes",
  "maxStderrBytes",
  "memoryBytes",
  "cpuSeconds",
  "maxProcesses",
  "maxOpenFiles",
  "maxFileBytes",
  "cpuShare",
  "ioShare",
  "writeBytes",
  "reserveBytes",
];

export const kInputs: Wrong[] = [
  ["argv", { argv: undefined }, kType],
  ["argv", { argv: null }, kType],
  ["argv", { argv: "true" }, kType],
  ["argv", { argv: { 0: "true", length: 1 } }, kType],
  ["argv[0]", { argv: [1] }, kType],
  ["argv[1]", { argv: ["true", 1] }, kType],
  ["argv[1]", { argv: ["true", null] }, kType],
  ["argv[1]", { argv: ["true", ["x"]] }, kType],
  ["argv[1]", { argv: ["true", undefined] }, kType],
  ["argv[1]", { argv: ["true", new String("x")] }, kType],
  ["argv[0]", { argv: ["tr\0ue"] }, kValue],
  ["argv[1]", { argv: ["true", "a\0b"] }, kValue],
  ["cwd", { cwd: 1 }, kType],
  ["cwd", { cwd: null }, kType],
  ["cwd", { cwd: ["a"] }, kType],
  ["cwd", { cwd: "a\0b" }, kValue],
  ["env", { env: "A=1" }, kType],
  ["env", { env: ["A=1"] }, kType],
  ["env", { env: null }, kType],
  ["env.A", { env: { A: 1 } }, kType],
  ["env.A", { env: { A: null } }, kType],
  ["env.A", { env: { A: {} } }, kType],
  ["env.A", { env: { A: "a\0b" } }, kValue],
  ["env", { env: { "A=B": "x" } }, kValue],
  ["env", { env: { "": "x" } }, kValue],
  ["env", { env: { "A\0B": "x" } }, kValue],
  ["stdin", { stdin: 5 }, kType],
  ["stdin", { stdin: [1, 2] }, kType],
  ["stdin", { stdin: new ArrayBuffer(2) }, kType],
  ["stdin", { stdin: new Uint16Array(2) }, kType],
  ["stdin", { stdin: new DataView(new ArrayBuffer(2)) }, kType],
  ["stdin", { stdin: null }, kType],
  ["stderr", { stderr: "stdout" }, kValue],
  ["stderr", { stderr: true }, kValue],
  ["stderr", { stderr: null }, kValue],
  ["limits", { limits: 5 }, kType],
  ["limits", { limits: [] }, kType],
  ["limits", { limits: null }, kType],
  ...kLimits.flatMap(limit),
  ["limits.timeoutMs", { limits: { timeoutMs: "1s" } }, kType],
  ["limits.timeoutMs", { limits: { timeoutMs: null } }, kType],
  ["limits.timeoutMs", { limits: { timeoutMs: 1n } }, kType],
  ["limits.timeoutMs", { limits: { timeoutMs: 0 } }, kRange],
  ["limits.timeoutMs", { limits: { timeoutMs: -1 } }, kRange],
  ["limits.timeoutMs", { limits: { timeoutMs: Number.NaN } }, kRange],
  ["limits.timeoutMs", { limits: { timeoutMs: Number.NEGATIVE_INFINITY } }, kRange],
  ["limits.keep", { limits: { keep: "tail" } }, kValue],
  ["limits.keep", { limits: { keep: 1 } }, kValue],
  ["limits.keep", { limits: { keep: null } }, kValue],
  ["signal", { signal: {} }, kType],
  ["signal", { signal: "SIGTERM" }, kType],
  ["signal", { signal: null }, kType],
  ["signal", { signal: new AbortController() }, kType],
  ["onStdout", { onStdout: "log" }, kType],
  ["onStdout", { onStdout: null }, kType],
  ["onStderr", { onStderr: {} }, kType],
];

/** What spawn takes too, or takes alone; what it has in another form is in the unit tests. */
export const kSpawnInputs: Wrong[] = [
  ...kInputs.filter(([field]) => !/^(stdin|onStd|limits\.(maxStd|keep))/.test(field)),
  ["pty", { pty: true }, kType],
  ["pty", { pty: null }, kType],
  ["pty", { pty: "xterm" }, kType],
  ["pty.cols", { pty: {} }, kType],
  ["pty.rows", { pty: { cols: 80 } }, kType],
  ["pty.cols", { pty: { cols: "80", rows: 24 } }, kType],
  ["pty.cols", { pty: { cols: 0, rows: 24 } }, kRange],
  ["pty.rows", { pty: { cols: 80, rows: 65536 } }, kRange],
  ["pty.rows", { pty: { cols: 80, rows: -1 } }, kRange],
  ["pty.rows", { pty: { cols: 80, rows: 1.5 } }, kRange],
  ["pty.cols", { pty: { cols: Number.NaN, rows: 24 } }, kRange],
  ["pty.term", { pty: { cols: 80, rows: 24, term: 5 } }, kType],
  ["TERM", { pty: { cols: 80, rows: 24, term: "a\0b" } }, kValue],
];

/** Of a terminal's new size. */
export const kSizes: [string, unknown, string][] = [
  ["size", undefined, kType],
  ["size", 5, kType],
  ["size.cols", {}, kType],
  ["size.rows", { cols: 1 }, kType],
  ["size.cols", { cols: 0, rows: 1 }, kRange],
  ["size.rows", { cols: 1, rows: 70_000 }, kRange],
];

export const kOptions: Wrong[] = [
  ["shadowDir", { shadowDir: undefined }, kType],
  ["shadowDir", { shadowDir: 1 }, kType],
  ["shadowDir", { shadowDir: null }, kType],
  ["shadowDir", { shadowDir: "" }, kValue],
  ["shadowDir", { shadowDir: "/a\0b" }, kValue],
  ["shadowDir", { shadowDir: new URL("file:///tmp") }, kType],
  ...["/", "//", "/.", "/usr/.."].map((root): Wrong => ["shadowDir", { shadowDir: root }, kValue]),
  ["workspaceIsRoot", { shadowDir: "/", workspaceIsRoot: 1 }, kType],
  ["envPolicy", { envPolicy: "all" }, kValue],
  ["envPolicy", { envPolicy: 1 }, kValue],
  ["envPolicy", { envPolicy: null }, kValue],
  ["envPolicy[0]", { envPolicy: [1] }, kType],
  ["envPolicy[0]", { envPolicy: ["A=B"] }, kValue],
  ["envPolicy[1]", { envPolicy: ["A", ""] }, kValue],
  ["maxConcurrent", { maxConcurrent: 0 }, kRange],
  ["maxConcurrent", { maxConcurrent: -1 }, kRange],
  ["maxConcurrent", { maxConcurrent: 1.5 }, kRange],
  ["maxConcurrent", { maxConcurrent: Number.NaN }, kRange],
  ["maxConcurrent", { maxConcurrent: "8" }, kType],
];

const flag = (name: string): Wrong[] =>
  ["yes", 1, null].map((value) => [name, { [name]: value }, kType]);

const paths = (name: string): Wrong[] => [
  [name, { [name]: "/usr" }, kType],
  [name, { [name]: {} }, kType],
  [name, { [name]: null }, kType],
  [`${name}[0]`, { [name]: [1] }, kType],
  [`${name}[1]`, { [name]: ["/usr", ""] }, kValue],
  [`${name}[0]`, { [name]: ["usr"] }, kValue],
  [`${name}[0]`, { [name]: ["/usr\0"] }, kValue],
  [`${name}[0]`, { [name]: ["/usr/../root"] }, kValue],
];

const kNetwork: Wrong[] = ["none", true, null, ""].map((network) => [
  "network",
  { network },
  kValue,
]);

const kRequired: Wrong[] = [
  ["required", { required: "seccomp" }, kType],
  ["required", { required: null }, kType],
  ["required[0]", { required: [1] }, kType],
  ["required[1]", { required: ["seccomp", ""] }, kValue],
  ["required[0]", { required: ["a\0b"] }, kValue],
];

const kExtraArgs: Wrong[] = [
  ["extraArgs", { extraArgs: "--quiet" }, kType],
  ["extraArgs", { extraArgs: null }, kType],
  ["extraArgs[0]", { extraArgs: [1] }, kType],
  ["extraArgs[0]", { extraArgs: [""] }, kValue],
  ["extraArgs[0]", { extraArgs: ["no-option"] }, kValue],
];

/** What `buildBubblewrapArgv` takes too. */
export const kBubblewrapArgvOptions: Wrong[] = [
  ["bwrapPath", { bwrapPath: 1 }, kType],
  ["bwrapPath", { bwrapPath: null }, kType],
  ["bwrapPath", { bwrapPath: "" }, kValue],
  ["bwrapPath", { bwrapPath: "b\0wrap" }, kValue],
  ["bwrapPath", { bwrapPath: "bin/bwrap" }, kValue],
  ...paths("roBinds"),
  ...kNetwork,
];

export const kBubblewrapOptions: Wrong[] = [
  ...kBubblewrapArgvOptions,
  ["isolation", { isolation: "none" }, kValue],
  ["isolation", { isolation: null }, kValue],
  ...flag("devBind"),
  ...flag("procBind"),
  ...flag("allowWriteWorkspace"),
  ["layers", { layers: "landlock" }, kType],
  ["layers", { layers: null }, kType],
  ["layers[0]", { layers: [1] }, kType],
  ["layers", { layers: ["seccomp"] }, kValue],
  ...kRequired,
  ...kExtraArgs,
  ["extraArgs[0]", { extraArgs: ["--args", "5"] }, kValue],
  ["extraArgs[0]", { extraArgs: ["--hostname"] }, kValue],
  // bwrap's options travel with NUL bytes between them.
  ["extraArgs[1]", { extraArgs: ["--hostname", "x\0--share-net"] }, kValue],
  ["prewarm", { prewarm: "2" }, kType],
  ["prewarm", { prewarm: null }, kType],
  ["prewarm", { prewarm: Number.NaN }, kRange],
  ["prewarm", { prewarm: 65 }, kRange],
  ["prewarmIdleMs", { prewarmIdleMs: "5" }, kType],
  ["prewarmIdleMs", { prewarmIdleMs: null }, kType],
  ["prewarmIdleMs", { prewarmIdleMs: 0 }, kRange],
  ["prewarmIdleMs", { prewarmIdleMs: Number.POSITIVE_INFINITY }, kRange],
  ["clone", { clone: "always" }, kValue],
  ["clone", { clone: true }, kValue],
  ["clone", { clone: null }, kValue],
];

export const kLandlockOptions: Wrong[] = [
  ...paths("fsReadDirs"),
  ...paths("fsWriteDirs"),
  ...flag("allowReadWorkspace"),
  ...flag("allowWriteWorkspace"),
  ...kNetwork,
  ...kRequired,
];

export const kFirejailOptions: Wrong[] = [
  ["firejailPath", { firejailPath: 1 }, kType],
  ["firejailPath", { firejailPath: "" }, kValue],
  ["firejailPath", { firejailPath: "fire\0jail" }, kValue],
  ["firejailPath", { firejailPath: "bin/firejail" }, kValue],
  ["profile", { profile: 1 }, kType],
  ["profile", { profile: null }, kType],
  ["profile", { profile: "" }, kValue],
  ["profile", { profile: "firefox" }, kValue],
  ["profile", { profile: "/p\0" }, kValue],
  ["profile", { profile: "/p", fsReadDirs: ["/usr"] }, kValue],
  ...paths("fsReadDirs"),
  ...paths("fsWriteDirs"),
  ...kNetwork,
  ...kRequired,
  ...kExtraArgs,
];

const title = ([field, change]: Wrong): string => {
  const shown = (_: string, value: unknown) =>
    typeof value === "bigint" || typeof value === "number" || value === undefined
      ? String(value)
      : value;
  return `${field}: ${JSON.stringify(change, shown)}`;
};
/** Each row with a title for its test in front. */
export const titled = (rows: readonly Wrong[]) =>
  rows.map((row): [string, ...Wrong] => [title(row), ...row]);
