/** Images that tests make: OCI layouts of given layers, and archives made entry by entry, also ones that no tool makes. */

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/** What an entry's header says. Texts are bytes ("latin1"). */
export type MadeEntry = {
  name: string;
  /** Type flag. Default "0", a file. */
  flag?: string;
  data?: Buffer | string;
  /** What it says to have, if that is not so. */
  size?: number;
  mode?: number;
  mtime?: number;
  target?: string;
  /** Of a PAX header before it. */
  pax?: Record<string, string>;
};

const padded = (data: Buffer) => Buffer.concat([data, Buffer.alloc(-data.length & 511)]);

function header({
  name,
  flag = "0",
  data = "",
  size,
  mode = 0o644,
  mtime = 1e9,
  target = "",
}: MadeEntry) {
  const block = Buffer.alloc(512);
  block.write(name, 0, 100, "latin1");
  const number = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  block.write(number(mode, 7), 100);
  block.write(number(0, 7), 108);
  block.write(number(0, 7), 116);
  block.write(number(size ?? data.length, 11), 124);
  block.write(number(mtime, 11), 136);
  block.write("        ", 148);
  block.write(flag, 156);
  block.write(target, 157, 100, "latin1");
  block.write("ustar\x0000", 257);
  const sum = block.reduce((all, byte) => all + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length;
  while (length !== rest.length + String(length).length)
    length = rest.length + String(length).length;
  return `${length}${rest}`;
}

/** An archive of these entries; a long name, or target, gets a header of GNU's. */
export function madeTar(entries: readonly MadeEntry[], hasEnd = true): Buffer {
  const blocks: Buffer[] = [];
  const add = (entry: MadeEntry) => {
    const { data = "" } = entry;
    const bytes = typeof data === "string" ? Buffer.from(data, "latin1") : data;
    blocks.push(header(entry), padded(bytes));
  };
  for (const { pax, ...entry } of entries) {
    const { name, target = "" } = entry;
    if (pax !== undefined) {
      const data = Object.entries(pax)
        .map(([key, value]) => record(key, value))
        .join("");
      add({ name: "PaxHeader", flag: "x", data: Buffer.from(data, "latin1") });
    }
    if (name.length > 100) add({ name: "L", flag: "L", data: Buffer.from(`${name}\0`, "latin1") });
    if (target.length > 100)
      add({ name: "K", flag: "K", data: Buffer.from(`${target}\0`, "latin1") });
    add(entry);
  }
  return Buffer.concat(hasEnd ? [...blocks, Buffer.alloc(1024)] : blocks);
}

export const digestOf = (data: Buffer | string) =>
  `sha256:${createHash("sha256").update(data).digest("hex")}`;

/** A layer: an archive, and what is stored of it. */
export type MadeLayer = Buffer | { tar: Buffer; stored: Buffer };

export type ImageOfLayout = {
  layers: readonly MadeLayer[];
  /** Names in the layout. Default none. */
  tags?: readonly string[];
  /** The `config` of its configuration. */
  config?: object;
  /** More of its configuration. */
  more?: object;
  platform?: object;
};

/** Writes an OCI layout. Returns the digests of the manifests. */
export function writeLayout(directory: string, images: readonly ImageOfLayout[]): string[] {
  const blobs = join(directory, "blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const put = (mediaType: string, content: Buffer) => {
    const digest = digestOf(content);
    writeFileSync(join(blobs, digest.slice(7)), content);
    return { mediaType: `application/vnd.oci.image.${mediaType}`, digest, size: content.length };
  };
  const json = (value: object) => Buffer.from(JSON.stringify(value));
  const manifests = images.flatMap(({ layers, tags = [], config = {}, more, platform }) => {
    const both = layers.map((layer) =>
      Buffer.isBuffer(layer) ? { tar: layer, stored: gzipSync(layer, { level: 1 }) } : layer,
    );
    const about = {
      ...{ architecture: kArchitecture, os: "linux", config },
      rootfs: { type: "layers", diff_ids: both.map(({ tar }) => digestOf(tar)) },
      ...more,
    };
    const manifest = {
      schemaVersion: 2,
      config: put("config.v1+json", json(about)),
      layers: both.map(({ stored }) => put("layer.v1.tar+gzip", stored)),
    };
    const made = { ...put("manifest.v1+json", json(manifest)), ...(platform && { platform }) };
    if (tags.length === 0) return [made];
    return tags.map((tag) => ({
      ...made,
      annotations: { "org.opencontainers.image.ref.name": tag },
    }));
  });
  writeFileSync(join(directory, "index.json"), JSON.stringify({ schemaVersion: 2, manifests }));
  writeFileSync(join(directory, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  return manifests.map(({ digest }) => digest);
}

/** The architecture of this machine, in the words of images. */
export const kArchitecture = { x64: "amd64", ia32: "386" }[process.arch as string] ?? process.arch;
