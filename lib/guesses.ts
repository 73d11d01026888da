/** Names that other libraries have for our fields, and people's first guesses. Pure. */

const kWorkspace = "shadowDir";
const kArgv = "argv";
const kTimeout = "limits.timeoutMs";

/** Names of a runner's options. */
const kOptions: Readonly<Record<string, string>> = {
  workspace: kWorkspace,
  workspaceDir: kWorkspace,
  workdir: kWorkspace,
  workDir: kWorkspace,
  workingDirectory: kWorkspace,
  dir: kWorkspace,
  directory: kWorkspace,
  folder: kWorkspace,
  path: kWorkspace,
  root: kWorkspace,
  project: kWorkspace,
  cwd: kWorkspace,
};

/** Names of a call's fields, which a runner does not have: said with where they belong. */
const kOfCalls: Readonly<Record<string, string>> = {
  timeout: kTimeout,
  timeoutMs: kTimeout,
  env: "env",
  limits: "limits",
  argv: "argv",
  cmd: "argv",
  command: "argv",
};

const kInput: Readonly<Record<string, string>> = {
  cmd: kArgv,
  command: kArgv,
  args: kArgv,
  arguments: kArgv,
  program: kArgv,
  file: kArgv,
  script: kArgv,
  code: kArgv,
  shell: kArgv,
  timeout: kTimeout,
  timeoutMs: kTimeout,
  timeoutMillis: kTimeout,
  timeoutSecs: kTimeout,
  dir: "cwd",
  directory: "cwd",
  workdir: "cwd",
  workingDirectory: "cwd",
  environment: "env",
  envs: "env",
  environ: "env",
  input: "stdin",
  onData: "onStdout",
  onOutput: "onStdout",
  stdout: "onStdout",
  onError: "onStderr",
  maxBuffer: "limits.maxStdoutBytes",
  maxOutput: "limits.maxStdoutBytes",
  memory: "limits.memoryBytes",
  abortSignal: "signal",
};

const kLimits: Readonly<Record<string, string>> = {
  timeout: "timeoutMs",
  timeoutSecs: "timeoutMs",
  memory: "memoryBytes",
  memoryMb: "memoryBytes",
  cpu: "cpuSeconds",
  processes: "maxProcesses",
  pids: "maxProcesses",
  files: "maxOpenFiles",
  output: "maxStdoutBytes",
  maxOutput: "maxStdoutBytes",
  maxOutputBytes: "maxStdoutBytes",
  maxBuffer: "maxStdoutBytes",
  cpus: "cpuShare",
  cpuShares: "cpuShare",
  disk: "writeBytes",
  diskBytes: "writeBytes",
  quota: "writeBytes",
};

const kOf = (table: Readonly<Record<string, string>>, name: string) =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/**
 * Returns the message of an unknown field of a call with our name for it; any other message unchanged. The
 * text after the place is replaced: a nearest spelling, or the list of all names.
 */
export function withGuess(message: string): string {
  return guessed(message, (place, name) => {
    if (place === "limits") return kOf(kLimits, name);
    return place === "input" ? kOf(kInput, name) : undefined;
  });
}

/** Like {@link withGuess}, for the options of a runner. */
export function withOptionGuess(message: string): string {
  return guessed(message, (place, name) => {
    if (place !== "options") return undefined;
    const field = kOf(kOfCalls, name);
    return kOf(kOptions, name) ?? (field && `exec({ ${field} })`);
  });
}

type Meant = (place: string, name: string) => string | undefined;

function guessed(message: string, meant: Meant): string {
  const [whole = "", name = "", place = ""] = kUnknown.exec(message) ?? [];
  const field = whole === "" ? undefined : meant(place, name);
  if (field === undefined) return message;
  const example = field === kArgv ? ': ["bash", "-c", "…"]' : "";
  return `${whole}; did you mean \`${field}${example}\`?`;
}

const kUnknown = /^Unknown field "(\w+)" in `(\w+)`/;
