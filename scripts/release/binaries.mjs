// What the binaries of a release must be, target by target: of that processor, loadable on old C
// libraries, closed to the outside, and without a word of where they were built.
import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import {
  exportedSymbols,
  isStatic,
  kMusl,
  machineOf,
  neededLibraries,
  oddities,
  outsideOf,
} from "../lib/elf.mjs";
import { root } from "../lib/project.mjs";

const kMachines = { x64: "Advanced Micro Devices X86-64", arm64: "AArch64" };
const kEntry = /^(napi_register_module_v1|node_api_module_get_api_version_v1)$/;

/** Paths of the machine that built, of which none may be in a binary. */
const kPlaces = [root, `${os.homedir()}/`, "/home/", "/builds/"];

/** Which of `places` a binary has among its strings. Pure. */
export function placesIn(bytes, places = kPlaces) {
  const found = places.filter((place) => place.length > 1 && bytes.includes(Buffer.from(place)));
  return [...new Set(found)];
}

/** What is wrong with the two files of a target. */
export function complaintsOf(target, directory) {
  const addon = path.join(directory, "native_runner.node");
  const launcher = path.join(directory, "launcher");
  const complaints = [];
  for (const file of [addon, launcher]) {
    const name = `${target.name}/${path.basename(file)}`;
    const machine = machineOf(file);
    if (machine !== kMachines[target.arch]) complaints.push(`${name} is for ${machine}`);
    for (const each of oddities(file)) complaints.push(`${name} has ${each}`);
    for (const place of placesIn(readFileSync(file))) complaints.push(`${name} names ${place}`);
  }
  const seen = exportedSymbols(addon).filter((symbol) => !kEntry.test(symbol));
  if (seen.length > 0) complaints.push(`${target.name}: the addon exports ${seen.join(", ")}`);
  if (!isStatic(launcher)) complaints.push(`${target.name}: the launcher is not static`);
  if (target.libc === "musl") {
    const others = neededLibraries(addon).filter((name) => !kMusl.test(name));
    if (others.length > 0) complaints.push(`${target.name}: the addon needs ${others.join(", ")}`);
  }
  return [...complaints, ...outsideOf(addon).complaints];
}
