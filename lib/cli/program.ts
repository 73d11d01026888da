/** The grammar of the command line. Parsing only; the caller implements the commands. */

import { Command, Option, type OutputConfiguration } from "commander";

import { kPresetNames } from "../network.js";
import { kRuntimeTypes } from "../runtime/runtime.js";
import { formatSize } from "../text.js";
import { type AuditActions, addAuditCommand } from "./audit.js";
import { addCompletionCommand } from "./completion.js";
import type { DoctorOptions } from "./doctor.js";
import { flagOf, kReplacing } from "./flags.js";
import { addHomeCommand, type HomeActions } from "./home.js";
import { addImageCommand, type ImageActions } from "./image.js";
import { addLearnCommand, type LearnOptions } from "./learn/learn.js";
import {
  type CliOptions,
  kDefaultMaxOutput,
  kLatest,
  type McpOptions,
  withAllowProtected,
  withAuditOption,
  withStateDirectory,
} from "./options.js";
import type { ReviewCliOptions } from "./review.js";
import { addSkillCommand, type SkillCliOptions } from "./skill.js";
import { addTxCommand, type TxActions } from "./transactions/tx.js";
import {
  count,
  device,
  directory,
  duration,
  environmentPolicy,
  file,
  finiteDuration,
  formatDuration,
  host,
  hostPort,
  httpRule,
  image,
  mount,
  path,
  port,
  preset,
  published,
  secret,
  size,
  variable,
} from "./values.js";
import type { WhyOptions } from "./why.js";
import type { BrokerConfigOptions } from "./worker/broker-config.js";
import {
  addBrokerConfigCommand,
  addDoctorCommands,
  addWorkerCommand,
  addWorkersCommand,
  type DoctorActions,
  type WorkerCliOptions,
  type WorkersActions,
} from "./worker/commands.js";

/** The text after the options in the program's help. */
export const kNotes = `
Sizes are binary (1K = 1024); a duration without a unit is in seconds.

Exit codes of run: the command's own; 2 misuse; 124 timed out; 125 the sandbox can't be made;
126 can't be executed; 127 not found; 128+n ended by signal n; 130 interrupted. With --commit also
121 the changes are in conflict with the host's; 122 they are protected; then they are kept.
Exit codes of doctor: 0 a sandbox works here; 1 none does, or not the one named; 2 misuse.

Examples:
  $ native-runner run -- bash -c 'make test'
  $ native-runner run -w ./project --timeout 5m --memory 2G --json -- npm test
  $ native-runner run --runtime auto -- npm test
  $ native-runner run --allow-preset npm -- npm ci
  $ native-runner run --transaction -- npm install
  $ native-runner why -- make install
  $ native-runner learn --into policy.json -- make install
  $ native-runner explain --network allow -- curl https://example.org`;

/** The implementations of the commands. */
export type Actions = TxActions &
  HomeActions &
  ImageActions &
  WorkersActions &
  DoctorActions &
  AuditActions & {
    run(command: string[], options: CliOptions): Promise<void>;
    explain(command: string[], options: CliOptions): Promise<void>;
    why(command: string[], options: WhyOptions): Promise<void>;
    learn(command: string[], options: LearnOptions): Promise<void>;
    doctor(options: DoctorOptions): Promise<void>;
    mcp(options: McpOptions): Promise<void>;
    worker(options: WorkerCliOptions): Promise<void>;
    brokerConfig(options: BrokerConfigOptions): Promise<void>;
    review(ids: readonly string[], options: ReviewCliOptions): Promise<void>;
    runSkill(path: string, options: SkillCliOptions): Promise<void>;
  };

/** A JSON string may take seven characters per byte, and V8 strings are limited to 2^29 characters. */
const kMaxJsonOutput = 32 * 1024 ** 2;

const kOfTransactions = [
  ["commit", "--commit"],
  ["discard", "--discard"],
  ["allowProtected", "--allow-protected"],
  ["stateDirectory", "--state-directory"],
] as const;

function checkTogether(command: Command): void {
  const { json, maxOutput, ...rest } = command.opts<CliOptions>();
  if (json && maxOutput !== undefined && maxOutput > kMaxJsonOutput) {
    command.error(`error: with --json, --max-output is at most ${formatSize(kMaxJsonOutput)}`);
  }
  const byDomain =
    (rest.allowHost && "--allow-host") ||
    (rest.allowPreset && "--allow-preset") ||
    (rest.hostPort && "--host-port");
  if (byDomain && rest.network !== undefined) {
    command.error(`error: ${byDomain} or --network, not both`);
  }
  if (rest.image && rest.root) command.error("error: --image or --root, not both");
}

function checkTransaction(command: Command): void {
  const options = command.opts<CliOptions>();
  if (options.commit && options.discard) command.error("error: --commit or --discard, not both");
  const lone = kOfTransactions.find(([field]) => options[field] !== undefined);
  if (!options.transaction && lone) {
    command.error(`error: ${lone[1]} means nothing without --transaction`);
  }
}

/** Returns the parser's message in the common format. */
function misuse(text: string, command?: string): string {
  const message = text
    .replace(/^error: /, "")
    .trimEnd()
    .replaceAll("\n", " ");
  return `native-runner: ${message}\nfix: see \`native-runner${command === undefined ? "" : ` ${command}`} --help\`\n`;
}

function runtimeOption(description: string): Option {
  return new Option("--runtime <name>", description).choices(kRuntimeTypes);
}

function withTransactionOptions(command: Command): Command {
  command
    .option(
      "--transaction",
      "what it changes waits in a transaction: shown, and asked about at a terminal",
    )
    .option("--commit", "with --transaction: commit the changes if the command exits with 0")
    .option("--discard", "with --transaction: discard them, whatever comes of it");
  return withStateDirectory(withAllowProtected(command)).hook("preAction", checkTransaction);
}

/** A terminal's input has no deadline of its own: a shell ends when the person ends it. */
function checkTerminal(command: Command): void {
  const { tty, interactive, stdin, json } = command.opts<CliOptions>();
  const [first = ""] = command.args;
  if (tty && /^\d+(\.\d+)?(ms|s|m|h)?$/.test(first)) {
    command.error(`error: -t is --tty; the deadline is --timeout ${first}`);
  }
  if (tty && json) command.error("error: --tty or --json, not both");
  if (interactive && !stdin) command.error("error: --interactive or --no-stdin, not both");
  if (tty && command.getOptionValueSource("timeout") === "default") {
    command.setOptionValue("timeout", Number.POSITIVE_INFINITY);
  }
}

function withTerminalOptions(command: Command): Command {
  return command
    .option("-i, --interactive", "pass standard input although it is a terminal")
    .option("-t, --tty", "give the command a terminal of its own; then no --timeout by default")
    .hook("preAction", checkTerminal);
}

/** Adds an option of `run` alone: another command has no server. */
function withPublish(command: Command): Command {
  return command
    .option(
      "--publish <[hostport:]port>",
      "a port of the host's 127.0.0.1 (by default a free one) that leads to this port of the command; repeatable",
      published,
    )
    .hook("preAction", (self) => {
      const { publish, json } = self.opts<CliOptions>();
      if (publish && json) self.error("error: --publish or --json, not both");
    });
}

/** Adds the options that `run` and `explain` share, in the order of --help. */
function withSharedOptions(command: Command): Command {
  return withPolicyOptions(withTerminalOptions(withTransactionOptions(command)));
}

/** Adds those of them that do not concern transactions: `why` has them too. */
function withPolicyOptions(command: Command): Command {
  return withConfinement(
    command.argument("<command...>", "the program and its arguments, best after --"),
  )
    .option(
      "--http <rule>",
      'allow only such requests to a host: "GET,HEAD api.a.test/v1/*"; repeatable',
      httpRule,
    )
    .hook("preAction", (self) => {
      self.setOptionValue("httpRule", self.getOptionValue("http"));
    })
    .option("--no-stdin", "do not pass standard input (a terminal's is passed with -i only)")
    .option("--json", "print one JSON object instead")
    .passThroughOptions();
}

/** Adds the options that confine commands: also for `mcp`, which receives its commands from a client. */
function withConfinement(command: Command): Command {
  command
    .option(
      "-w, --workspace <dir>",
      "the only directory that can be written, at /workspace",
      directory,
      ".",
    )
    .option("--workspace-is-root", "agree to a workspace that is the host's root directory")
    .option("-C, --cwd <dir>", "where to start, relative to the workspace")
    .addOption(runtimeOption("the runtime to use; default: the operator's, else bubblewrap"))
    .option("--config <file>", "the runtimes' configuration, a JSON file", file)
    .addOption(flagOf("network"))
    .option(
      "--allow-host <host>",
      "reach HOST, HOST:PORT, *.DOMAIN or *.DOMAIN:PORT (80 and 443 by default), and else nothing; repeatable",
      host,
    )
    .addOption(
      new Option(
        "--allow-preset <name>",
        `reach what a tool needs: ${kPresetNames.join(", ")}; repeatable`,
      ).argParser(preset),
    )
    .option(
      "--host-port <port>",
      "reach this port of the host's 127.0.0.1, or ADDRESS:PORT of its loopback, at the sandbox's own; repeatable",
      hostPort,
    )
    .option(
      "--secret <name@host>",
      "let commands use the host's variable NAME at HOST[,HOST] without having it; or NAME=file:PATH@HOST, NAME=command:COMMAND@HOST; repeatable",
      secret,
    )
    .addOption(flagOf("roBinds").argParser(path))
    .option("--no-default-ro-binds", "leave out /usr, /bin, /lib, /lib64 and /etc")
    .option(
      "--image <image>",
      "a container image as root file system, with its variables: a reference of `native-runner image`, or a path such as ./image.tar",
      image,
    )
    .addOption(flagOf("mounts").argParser(mount))
    .addOption(flagOf("devices").argParser(device))
    .option("-e, --env <name=value>", "set a variable, or pass NAME on; repeatable", variable)
    .addOption(flagOf("envPolicy").argParser(environmentPolicy).default("scrub"))
    .addOption(
      new Option("--timeout <duration>", "end the run after it: 500ms, 30s, 5m, 1h, none")
        .argParser(duration)
        .default(60_000, formatDuration(60_000)),
    )
    .addOption(
      new Option(
        "--max-output <size>",
        `bytes to pass on or keep of stdout and of stderr, each; default: all that is passed on, ${formatSize(kDefaultMaxOutput)} of what is kept`,
      ).argParser(size),
    )
    .option("--memory <size>", "most memory: 512M, 2G", size)
    .option("--cpu <duration>", "most CPU time of a process, in whole seconds", finiteDuration)
    .option("--max-processes <n>", "most processes and threads", count)
    .option("--max-open-files <n>", "most open files of a process", count)
    .option("--max-file <size>", "largest file that can be written", size)
    .option("--max-write <size>", "most that is added to workspace, home and /tmp", size)
    .option("--reserve <size>", "end the run when less is free on their disks", size)
    .option("--cpu-share <n>", "share of the CPUs: 1 to 10000, others have 100", count)
    .option("--io-share <n>", "share of the workspace's disk: 1 to 1000, others have 100", count)
    .hook("preAction", checkTogether);
  for (const name of kReplacing) command.addOption(flagOf(name));
  return command;
}

/**
 * Creates the parser. It throws CommanderError instead of ending the process, and writes through the given
 * outputs.
 */
export function createProgram(version: string, actions: Actions): Command {
  const program = new Command("native-runner")
    .description("Run a command in a sandbox: isolated, bounded, recorded.")
    .version(version, "-V, --version")
    .usage(
      "run|explain|why|learn|doctor|tx|home|image|review|audit|mcp|worker|workers|broker-config|skill|completion [options]",
    )
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(misuse(text)) })
    .addHelpText("after", kNotes);
  const say = (name: string): OutputConfiguration => ({
    outputError: (text, write) => write(misuse(text, name)),
  });
  withAuditOption(
    withPublish(
      withSharedOptions(
        program
          .command("run")
          .configureOutput(say("run"))
          .usage("[options] -- COMMAND...")
          .description("run a command and exit as it does; output streams through"),
      ),
    ),
  ).action(actions.run);
  withSharedOptions(
    program
      .command("explain")
      .configureOutput(say("explain"))
      .usage("[options] -- COMMAND...")
      .description("print the command line and the policy that run would have, and do not run it"),
  ).action(actions.explain);
  withAuditOption(
    withPolicyOptions(
      program
        .command("why")
        .usage("[options] -- COMMAND...")
        .description("run a command, and print what the sandbox denied it and the smallest grants")
        .option("--apply", "then ask, and run it again with the grants")
        .option("--yes", "with --apply: do not ask"),
    ),
  )
    .hook("preAction", (command) => {
      const { apply, yes } = command.opts<WhyOptions>();
      if (yes && !apply) command.error("error: --yes means nothing without --apply");
    })
    .configureOutput({ outputError: (text, write) => write(misuse(text, "why")) })
    .action(actions.why);
  addLearnCommand(withPolicyOptions(program.command("learn")), actions.learn).configureOutput({
    outputError: (text, write) => write(misuse(text, "learn")),
  });
  const doctor = program
    .command("doctor")
    .usage("[options]")
    .description("prove which runtimes work here, and say what would help the others")
    .addOption(runtimeOption("the one that has to work; default: any that confines"))
    .option("--config <file>", "the runtimes' configuration, a JSON file", file)
    .option("--json", "print one JSON object instead")
    .configureOutput(say("doctor"))
    .action((options: DoctorOptions) => actions.doctor(options));
  addDoctorCommands(doctor, actions, say);
  addTxCommand(program, actions, say);
  addHomeCommand(program, actions, say);
  addImageCommand(program, actions, say);
  addReviewCommand(program.command("review"), actions.review).configureOutput(say("review"));
  addAuditCommand(program, actions, say);
  addMcpCommand(
    withAuditOption(
      withAllowProtected(withStateDirectory(withConfinement(program.command("mcp")))),
    ),
    actions.mcp,
  ).configureOutput({ outputError: (text, write) => write(misuse(text, "mcp")) });
  addWorkerCommand(program.command("worker"), actions.worker).configureOutput(say("worker"));
  addWorkersCommand(program, actions, say);
  addBrokerConfigCommand(program.command("broker-config"), actions.brokerConfig).configureOutput(
    say("broker-config"),
  );
  addSkillCommand(program, { finiteDuration, size, count }, actions.runSkill).configureOutput({
    outputError: (text, write) => write(misuse(text, "skill run")),
  });
  addCompletionCommand(program, (script) => void process.stdout.write(script)).configureOutput(
    say("completion"),
  );
  return program;
}

/** The grammar of `native-runner mcp`. Parsing only. */

/** Adds its options besides those of `run`. */
function addMcpCommand(command: Command, action: (options: McpOptions) => Promise<void>): Command {
  return command
    .usage("[options]")
    .description("serve the sandbox to an agent by MCP, on standard input and output or HTTP")
    .option(
      "--resume <id>",
      `go on in a transaction that waits: its id, or "${kLatest}": this workspace's last, or a new one`,
    )
    .option("--http [port]", "serve HTTP on 127.0.0.1 instead; default: any free port")
    .option(
      "--http-rule <rule>",
      'allow only such requests to a host: "GET,HEAD api.a.test/v1/*"; repeatable',
      httpRule,
    )
    .option(
      "--token-file <file>",
      "with --http: the token that clients must have; default: a new one, which is told",
      file,
    )
    .option(
      "--review [port]",
      "serve the review page too, on 127.0.0.1: its comments reach the model; default: any free port",
      port,
    )
    .hook("preAction", (self) => {
      const { tokenFile, http } = self.opts<McpOptions>();
      if (tokenFile !== undefined && http === undefined) {
        self.error("error: --token-file means nothing without --http");
      }
    })
    .addHelpText(
      "after",
      `
The options are the policy: the model can't widen it. Commands work in a transaction of the
workspace, which waits on disk (\`native-runner tx\`) when the client is gone.

Examples:
  $ native-runner mcp --workspace ~/project
  $ native-runner mcp --workspace ~/project --allow-preset npm --memory 4G --resume latest
  $ native-runner mcp --workspace ~/project --review 7788
  $ native-runner mcp --workspace ~/project --http 7777 --token-file ~/.config/native-runner/token`,
    )
    .action((options: McpOptions) => action(options));
}

/** The grammar of `native-runner review`. Parsing only. */

/** Adds the grammar to an empty command. */
function addReviewCommand(
  command: Command,
  action: (ids: readonly string[], options: ReviewCliOptions) => Promise<void>,
): Command {
  return withAuditOption(withStateDirectory(command))
    .usage("[options] [TRANSACTION [BRANCH...]]")
    .argument(
      "[transactions...]",
      "an id, or enough of its beginning; default: this directory's last. Further ones are branches to choose from",
    )
    .description("serve a page on which a person reviews, commits, discards and undoes changes")
    .option("--port <port>", "where on 127.0.0.1; default: any that is free", port)
    .option("--open", "open the page in a browser")
    .option("--approved-by <name>", "who has approved, for the record of what is committed")
    .addHelpText(
      "after",
      `
The page's address has a token: whoever knows it may commit. The page is served until SIGINT, or
until the transaction is discarded; what was not committed waits. Branches are shown side by side:
the first transaction takes the one that you choose, or files of several, and is committed then.
Exit codes: as those of \`native-runner tx\`.

Examples:
  $ native-runner run --transaction -- npm install
  $ native-runner review --open
  $ native-runner review 4be8 --port 7788
  $ native-runner review 4be8 90a1 c3f0`,
    )
    .action((ids: string[], options: ReviewCliOptions) => action(ids, options));
}
