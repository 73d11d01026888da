/** Runners, and what is run by them. */

import {
  BubblewrapNativeRunner,
  buildBubblewrapArgv,
  FirejailNativeRunner,
  LandlockNativeRunner,
  Lease,
  LocalNativeRunner,
} from "../package.js";
import { stateDirectory } from "../transactions.js";
import { type EntryPoint, type Host, inside } from "./entry-point.js";

export function runnerPoints({ shadowDir }: Host): EntryPoint[] {
  const right = { shadowDir };
  const made = (
    Runner: new (options: never) => unknown,
    misspelled: [string, string],
  ): EntryPoint => ({
    title: Runner.name,
    place: "options",
    right,
    misspelled,
    call: (options) => new Runner(options),
  });
  return [
    made(BubblewrapNativeRunner, ["allowWriteWorkspce", "allowWriteWorkspace"]),
    made(BubblewrapNativeRunner, ["require", "required"]),
    made(LandlockNativeRunner, ["fs_read_dirs", "fsReadDirs"]),
    made(FirejailNativeRunner, ["netwrok", "network"]),
    made(LocalNativeRunner, ["envpolicy", "envPolicy"]),
    inside(
      {
        ...made(BubblewrapNativeRunner, ["hostpath", "hostPath"]),
        title: "BubblewrapNativeRunner mounts",
        right: { hostPath: "/srv", mode: "ro" },
      },
      "mounts[0]",
      (given) => ({ shadowDir, mounts: [given] }),
    ),
    inside(
      {
        ...made(BubblewrapNativeRunner, ["onrequest", "onRequest"]),
        title: "BubblewrapNativeRunner network",
        right: { allow: ["a.test"], onRequest: () => "deny" },
      },
      "network",
      (given) => ({ shadowDir, network: given }),
    ),
    {
      title: "buildBubblewrapArgv",
      place: "options",
      right: { bwrapPath: "bwrap", shadowDir, commandArgv: ["ls"], network: "deny" },
      misspelled: ["roBind", "roBinds"],
      call: buildBubblewrapArgv,
    },
  ];
}

export function filePoints({ shadowDir }: Host): EntryPoint[] {
  const { files } = new LocalNativeRunner({ shadowDir });
  const point = (
    title: string,
    right: object,
    misspelled: [string, string],
    call: EntryPoint["call"],
  ): EntryPoint => ({ title: `files.${title}`, place: "options", right, misspelled, call });
  const written = () => files.write("file", "text");
  return [
    point("read", { maxBytes: 9 }, ["maxByte", "maxBytes"], async (options) => {
      await written();
      await files.read("file", options);
    }),
    point("readText", { maxBytes: 9, fatal: true }, ["fatl", "fatal"], async (options) => {
      await written();
      await files.readText("file", options);
    }),
    point("write", { mode: 0o600, flush: false }, ["ifUnchange", "ifUnchanged"], (options) =>
      files.write("file", "text", options),
    ),
    point("list", { recursive: true, maxEntries: 999 }, ["recursiv", "recursive"], (options) =>
      files.list("", options),
    ),
    point("mkdir", { recursive: true, mode: 0o700 }, ["mod", "mode"], (options) =>
      files.mkdir("made", options),
    ),
    point("remove", { recursive: true }, ["recursve", "recursive"], async (options) => {
      await files.mkdir("made", { recursive: true });
      await files.remove("made", options);
    }),
  ];
}

export function runPoints({ shadowDir }: Host): EntryPoint[] {
  const runner = new BubblewrapNativeRunner({ shadowDir });
  const directory = stateDirectory();
  const local = new LocalNativeRunner({ shadowDir });
  const exec: EntryPoint = {
    title: "exec",
    place: "input",
    right: { argv: ["true"] },
    misspelled: ["timeoutMs", "limits.timeoutMs"],
    call: (input) => local.exec(input),
  };
  const spawn: EntryPoint = {
    ...exec,
    title: "spawn",
    misspelled: ["ptty", "pty"],
    call: (input) => local.spawn(input).then((process) => process.stop()),
  };
  const openSession: EntryPoint = {
    title: "openSession",
    place: "options",
    right: {},
    misspelled: ["shel", "shell"],
    call: (options) => runner.openSession(options).then((session) => session.close()),
  };
  const limits = { right: {}, misspelled: ["memory", "memoryBytes"] as [string, string] };
  return [
    exec,
    inside({ ...exec, ...limits, title: "exec limits" }, "limits", (given) => ({
      argv: ["true"],
      limits: given,
    })),
    {
      title: "new Lease",
      place: "options",
      right: { ms: 5 },
      misspelled: ["mss", "ms"],
      call: async (options) => new Lease(options),
    },
    { ...exec, title: "exec in a sandbox", call: (input) => runner.exec(input) },
    { ...exec, title: "explain", call: (input) => runner.explain(input) },
    spawn,
    inside({ ...spawn, ...limits, title: "spawn limits" }, "limits", (given) => ({
      argv: ["true"],
      limits: given,
    })),
    inside(
      {
        ...spawn,
        title: "spawn pty",
        right: { cols: 80, rows: 24 },
        misspelled: ["col", "cols"],
      },
      "pty",
      (given) => ({ argv: ["true"], pty: given }),
    ),
    openSession,
    {
      ...openSession,
      title: "openTransaction",
      right: { directory },
      misspelled: ["dirctory", "directory"],
      call: (options) => runner.openTransaction(options).then((opened) => opened.discard()),
    },
    {
      ...openSession,
      title: "transactions",
      right: { directory },
      misspelled: ["dirctory", "directory"],
      call: (options) => runner.transactions(options),
    },
    {
      ...openSession,
      title: "transaction.changes",
      misspelled: ["path", "paths"],
      call: async (options) => {
        await using transaction = await runner.openTransaction({ directory });
        await transaction.changes(options);
      },
    },
    {
      ...openSession,
      title: "transaction.diff",
      misspelled: ["maxbytes", "maxBytes"],
      call: async (options) => {
        await using transaction = await runner.openTransaction({ directory });
        await transaction.diff(options);
      },
    },
    {
      title: "session.exec",
      place: "input",
      right: { argv: ["true"] },
      misspelled: ["stdinn", "stdin"],
      call: async (input) => {
        await using session = await runner.openSession();
        await session.exec(input);
      },
    },
    {
      title: "session.start",
      place: "input",
      right: { argv: ["true"] },
      misspelled: ["argvs", "argv"],
      call: async (input) => {
        await using session = await runner.openSession();
        await session.start(input).then((process) => process.stop());
      },
    },
    {
      title: "execBatch",
      place: "options",
      right: {},
      misspelled: ["stopOnErr", "stopOnError"],
      call: (options) => runner.execBatch([["true"]], options),
    },
    inside(
      { ...exec, title: "execBatch commands", call: (command) => runner.execBatch([command]) },
      "input",
      (given) => given,
    ),
    {
      title: "resize",
      place: "size",
      right: { cols: 80, rows: 24 },
      misspelled: ["row", "rows"],
      call: async (size) => {
        const pty = { cols: 1, rows: 1 };
        await using process = await local.spawn({ argv: ["sleep", "1000"], pty });
        process.resize(size);
      },
    },
  ];
}
