/** Tells a model about the sandbox that it works in, in one short text. */

import type { BubblewrapNetwork, SandboxHome, SandboxRoot } from "../../types/public.js";
import { HomeSource, workspaceInside } from "../home/home-view.js";
import type { BubblewrapNativeRunner } from "../runners/bubblewrap.js";
import { visibleLine } from "../text.js";

const kMostNames = 40;

/** The facts of a sandbox that the text tells. */
export type SandboxFacts = {
  /** The workspace's path inside. */
  workspace: string;
  home: SandboxHome;
  /** The root file system, if it is not the host's. */
  root?: SandboxRoot | undefined;
  /** Names of the tools that are shown besides those of the system; undefined: none are. */
  tools: readonly string[] | undefined;
  /** Names of the package caches that are shown. */
  caches?: readonly string[];
  /** Devices of the host that commands may use. */
  devices?: readonly string[];
  network: BubblewrapNetwork;
  isWritable: boolean;
};

const listed = (names: readonly string[]) => {
  const some = names.slice(0, kMostNames).map(visibleLine).join(", ");
  return names.length > kMostNames ? `${some} and ${names.length - kMostNames} more` : some;
};

function homeText(home: SandboxHome): string {
  if (home === "none") return "There is no home directory: HOME names what is not there.";
  const lasts =
    home === "private"
      ? "until the transaction is discarded"
      : "also for later transactions of this workspace";
  return `HOME can be written and starts without the user's files; what a command puts there stays for later commands, ${lasts}, and is no part of the changes.`;
}

function rootText(root: SandboxRoot | undefined): string {
  if (root === undefined) return "the system";
  return "image" in root ? `the image ${visibleLine(root.image)}` : "a root file system of its own";
}

function networkText(network: BubblewrapNetwork): string {
  if (network === "allow") return "The network is the host's.";
  if (network === "deny") return "There is no network, except the sandbox's own loopback.";
  const { allow = [], presets = [], secrets = [], http = [] } = network;
  const hosts = [...allow, ...presets.map((name) => `those of the preset ${name}`)];
  if (hosts.length === 0) return "No host of the network can be reached.";
  const credentials = secrets.map(
    ({ name, hosts: places }) =>
      ` $${name} stands for a credential that works in requests to ${listed(places)}, and nowhere else; its value is never here.`,
  );
  const ruled = [...new Set(http.map(({ host }) => host))];
  const rules = ruled.length === 0 ? "" : ` Of requests to ${listed(ruled)} only some are allowed.`;
  return `Of the network these can be reached: ${listed(hosts)}.${credentials.join("")}${rules}`;
}

/** Returns the text. Pure. */
export function aboutSandbox({
  workspace,
  home,
  root,
  tools,
  caches = [],
  devices = [],
  network,
  isWritable,
}: SandboxFacts): string {
  const parts = [
    `The workspace is ${workspace}${isWritable ? "" : ", and can only be read"}.`,
    homeText(home),
    tools === undefined ? `Programs are those of ${rootText(root)}.` : "",
    tools !== undefined && tools.length === 0 ? "Programs are those of the host's PATH." : "",
    tools !== undefined && tools.length > 0
      ? `Programs are those of the host's PATH, read-only, with ${listed(tools)}.`
      : "",
    caches.length > 0 ? `Package caches of the host are there: ${listed(caches)}.` : "",
    devices.length > 0 ? `Devices of the host can be used: ${listed(devices)}.` : "",
    networkText(network),
    "Where more is needed, try it: a refusal names the grant that a person can give.",
  ];
  return parts.filter((part) => part !== "").join(" ");
}

/** Returns the text for a runner's sandboxes. Looks for the host's tools. */
export function aboutRunner(runner: BubblewrapNativeRunner): string {
  const { home, tools, caches, roBinds, root, mounts, network, shadowDir, workspacePath } = runner;
  const showsTools = tools !== undefined && tools !== "none";
  const options = { home, tools, caches, roBinds, root, mounts, network, shadowDir, workspacePath };
  const source = new HomeSource(options);
  const found = showsTools ? source.found() : undefined;
  const names = source.caches()?.found.caches.map(({ name }) => name) ?? [];
  return aboutSandbox({
    workspace: workspaceInside(runner),
    home,
    root,
    tools: found?.tools.map(({ name }) => name),
    caches: [...new Set(names)],
    devices: runner.devices,
    network,
    isWritable: runner.allowWriteWorkspace,
  });
}
