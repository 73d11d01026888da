/**
 * Records of a tar archive in GNU's format, which GNU tar, BusyBox and libarchive read. Names and targets
 * are any text without a NUL, of any length.
 */

import type { Entry } from "../content/entry.js";

const kBlock = 512;
const kNameField = 100;
const kMostOctal = 8 ** 11;
const kKinds = { file: "0", symlink: "2", directory: "5", longName: "L", longTarget: "K" } as const;

type Fields = {
  name: Uint8Array;
  kind: (typeof kKinds)[keyof typeof kKinds];
  mode: number;
  size: number;
  target?: Uint8Array;
};

function writeOctal(block: Buffer, at: number, length: number, value: number): void {
  block.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at, length, "latin1");
}

/** Sizes of 8 GiB and more are binary, which the first bit tells. */
function writeSize(block: Buffer, size: number): void {
  const kAt = 124;
  const kLength = 12;
  if (size < kMostOctal) {
    writeOctal(block, kAt, kLength, size);
    return;
  }
  block[kAt] = 0x80;
  block.writeBigUInt64BE(BigInt(size), kAt + kLength - 8);
}

function headerOf({ name, kind, mode, size, target }: Fields): Buffer {
  const block = Buffer.alloc(kBlock);
  block.set(name.subarray(0, kNameField), 0);
  writeOctal(block, 100, 8, mode);
  writeOctal(block, 108, 8, 0);
  writeOctal(block, 116, 8, 0);
  writeSize(block, size);
  writeOctal(block, 136, 12, 0);
  block.fill(" ", 148, 156); // the sum is made with spaces in its own place
  block.write(kind, 156, "latin1");
  if (target) block.set(target.subarray(0, kNameField), 157);
  block.write("ustar  \0", 257, "latin1");
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** What fills the last block of a content. */
export function paddingOf(size: number): Buffer {
  return Buffer.alloc((kBlock - (size % kBlock)) % kBlock);
}

function longField(kind: Fields["kind"], text: Buffer): Buffer[] {
  if (text.length < kNameField) return [];
  const size = text.length + 1;
  const name = Buffer.from("././@LongLink");
  const content = Buffer.concat([text, Buffer.alloc(1), paddingOf(size)]);
  return [headerOf({ name, kind, mode: 0, size }), content];
}

/** What stands before the content of a file, and all there is of another entry. */
export function recordOf(entry: Entry): Buffer {
  const slash = entry.type === "directory" ? "/" : "";
  const name = Buffer.from(`./${entry.path}${slash}`);
  const target = Buffer.from(entry.type === "symlink" ? entry.target : "");
  const header = headerOf({
    name,
    kind: kKinds[entry.type],
    mode: entry.type === "symlink" ? 0o777 : entry.mode,
    size: entry.type === "file" ? entry.size : 0,
    target,
  });
  return Buffer.concat([
    ...longField(kKinds.longTarget, target),
    ...longField(kKinds.longName, name),
    header,
  ]);
}

/** What an archive ends with. */
export const kArchiveEnd: Uint8Array = new Uint8Array(2 * kBlock);
