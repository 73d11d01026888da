/** `native-runner image`, with the real skopeo and a registry on this machine. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { unpackImage, useImage } from "../../../lib/image/unpack-image.js";
import { lacks } from "../network/client-programs.js";
import { kCli, whyNoCli } from "../support/built-cli.js";
import { describeUnless } from "../support/requirements.js";
import { tempDirectory } from "../support/temp.js";
import { type ImageOfLayout, madeTar, writeLayout } from "./made-images.js";

/** Serves the images of layouts, by name; a name can get another layout later. */
async function registry(layouts: Record<string, string>): Promise<string> {
  const server = createServer((request, response) => {
    const [, name = "", kind = "", reference = ""] =
      /^\/v2\/([a-z/]+)\/(manifests|blobs)\/([a-z0-9:]+)$/.exec(request.url ?? "") ?? [];
    if (request.url === "/v2/") return response.end("{}");
    const layout = layouts[name];
    if (layout === undefined) return response.writeHead(404).end("{}");
    const index = JSON.parse(readFileSync(join(layout, "index.json"), "utf8"));
    const digest = reference.includes(":") ? reference : index.manifests[0].digest;
    const file = join(layout, "blobs/sha256", digest.slice("sha256:".length));
    if (!existsSync(file)) return response.writeHead(404).end("{}");
    const type =
      kind === "manifests"
        ? "application/vnd.oci.image.manifest.v1+json"
        : "application/octet-stream";
    response.setHeader("Content-Type", type).setHeader("Docker-Content-Digest", digest);
    return response.end(request.method === "HEAD" ? undefined : readFileSync(file));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function layoutOf(image: Partial<ImageOfLayout> & { layers: ImageOfLayout["layers"] }): string {
  const layout = tempDirectory("layout");
  writeLayout(layout, [{ tags: ["one"], ...image }]);
  return layout;
}

function state() {
  const home = tempDirectory("home");
  return { home, kept: join(home, "state/openagentic/images") };
}

/** Runs the command line; unlike `command`, it lets this process serve meanwhile. */
async function image(home: string, words: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const [program = "", ...args] = [...kCli, "image", ...words];
  const own = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, "state"), ...env };
  const child = spawn(program, args, { env: own, cwd: home, stdio: ["ignore", "pipe", "pipe"] });
  const text = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk) => {
    text.out += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    text.err += chunk;
  });
  const [exitCode] = await once(child, "close");
  return { ...text, exitCode };
}

describeUnless(whyNoCli ?? lacks("skopeo"), "native-runner image", () => {
  const kLayer = madeTar([
    { name: "bin/sh", data: "#!", mode: 0o755 },
    { name: "dev/null", flag: "3" },
  ]);

  test("pulls, lists and prunes", async () => {
    const { home, kept } = state();
    const at = await registry({
      mine: layoutOf({ layers: [kLayer], config: { Env: ["PATH=/bin"] } }),
    });
    const reference = `${at}/mine:1`;
    const pulled = await image(home, ["pull", "--tls-verify=false", reference]);
    expect(pulled).toMatchObject({ exitCode: 0, out: `${reference}\n` });
    expect(pulled.err).toContain("left out: 1 devices");

    const found = await unpackImage({ image: reference }, { stateDirectory: kept });
    expect(readFileSync(join(found.directory, "bin/sh"), "utf8")).toBe("#!");
    expect(found.config.path).toBe("/bin");

    const listed = await image(home, ["list"]);
    expect(listed.out).toMatch(
      /^DIGEST +PULLED +UNPACKED +USED +IMAGE\n[0-9a-f]{12} {2}\d.* B +2 B +just now +127\.0\.0\.1:\d+\/mine:1\n$/,
    );
    const [row] = JSON.parse((await image(home, ["list", "--json"])).out);
    expect(row).toMatchObject({
      name: reference,
      digest: found.digest,
      unpackedBytes: 2,
      isUsed: false,
    });

    const used = await useImage({ image: reference }, { stateDirectory: kept });
    expect((await image(home, ["list"])).out).toMatch(/ now +127/);
    const kept1 = await image(home, ["prune"]);
    expect(kept1.out).toBe(`left ${reference}: it is in use\nfreed 0 B\n`);
    used.release();
    expect((await image(home, ["prune", "--older-than", "1h"])).out).toBe("nothing to prune\n");
    const dry = await image(home, ["prune", "--dry-run"]);
    expect(dry.out).toMatch(/^would remove 127.*\nwould free .*\n$/);
    const pruned = await image(home, ["prune", "--json"]);
    const { freedBytes, ...rest } = JSON.parse(pruned.out);
    expect(rest).toMatchObject({ dryRun: false, pruned: [{ name: reference }], left: [] });
    expect(freedBytes).toBeGreaterThan(100);
    for (const name of ["trees", "layouts", "names"])
      expect(readdirSync(join(kept, name))).toEqual([]);
    expect((await image(home, ["list"])).out).toBe("no images\n");
    await expect(unpackImage({ image: reference }, { stateDirectory: kept })).rejects.toMatchObject(
      {
        code: "ERR_IMAGE_NOT_FOUND",
        fix: expect.stringContaining(`native-runner image pull ${reference}`),
      },
    );
  });

  test("a tag that moves is pulled anew, and two names of one image share it", async () => {
    const { home, kept } = state();
    const first = layoutOf({ layers: [madeTar([{ name: "v", data: "1" }])] });
    const layouts: Record<string, string> = { mine: first, same: first };
    const at = await registry(layouts);
    const pull = (name: string) =>
      image(home, ["pull", "--tls-verify=false", "--json", `docker://${at}/${name}`]);
    const { digest, directory, reference } = JSON.parse((await pull("mine")).out);
    expect(reference).toBe(`${at}/mine`);
    expect(JSON.parse((await pull("same")).out)).toMatchObject({ digest, directory });
    expect(readdirSync(join(kept, "layouts"))).toHaveLength(1);
    layouts.mine = layoutOf({ layers: [madeTar([{ name: "v", data: "2" }])] });
    const moved = JSON.parse((await pull("mine")).out);
    expect(moved.digest).not.toBe(digest);
    expect(readFileSync(join(moved.directory, "v"), "utf8")).toBe("2");
    expect(JSON.parse((await image(home, ["list", "--json"])).out)).toHaveLength(2);
    const before = await unpackImage({ image: `${at}/same` }, { stateDirectory: kept });
    expect(readFileSync(join(before.directory, "v"), "utf8")).toBe("1");
  });

  test("says what is wrong, and what to do", async () => {
    const { home, kept } = state();
    const at = await registry({
      bomb: layoutOf({ layers: [madeTar([{ name: "x", data: Buffer.alloc(3 << 20) }])] }),
    });
    const plain = await image(home, ["pull", `${at}/bomb`]);
    expect(plain).toMatchObject({ exitCode: 125, out: "" });
    expect(plain.err).toMatch(/bomb can't be pulled: .*HTTPS client/);
    expect(plain.err).toContain("--tls-verify=false");
    const none = await image(home, ["pull", "--tls-verify=false", `${at}/none`]);
    expect(none).toMatchObject({ exitCode: 125 });
    expect(none.err).toContain(`${at}/none can't be pulled`);
    const large = await image(home, [
      "pull",
      "--tls-verify=false",
      "--max-size",
      "1M",
      `${at}/bomb`,
    ]);
    expect(large).toMatchObject({ exitCode: 125 });
    expect(large.err).toMatch(/more than 1048576 bytes/);
    expect(readdirSync(join(kept, "trees"))).toEqual([]);
    const misused = await image(home, ["pull", "--json", "two words"]);
    expect(misused).toMatchObject({ exitCode: 2, err: expect.stringContaining("no reference") });
    expect(JSON.parse(misused.out)).toMatchObject({
      exitCode: 2,
      error: { message: expect.any(String) },
    });
    const bin = join(home, "bin");
    mkdirSync(bin);
    const without = await image(home, ["pull", `${at}/bomb`], { PATH: bin });
    expect(without).toMatchObject({ exitCode: 125 });
    expect(without.err).toMatch(/no skopeo on PATH\nfix: install skopeo/);
    expect(readdirSync(join(kept, "layouts"))).toEqual([]);
  });

  test("skopeo's own archives are the tree of the layout", async () => {
    const layout = layoutOf({
      layers: [kLayer, madeTar([{ name: "bin/.wh.sh" }, { name: "bin/bash", data: "b" }])],
    });
    const place = tempDirectory("archives");
    const stateDirectory = join(place, "state");
    const { directory } = await unpackImage({ image: layout }, { stateDirectory });
    expect(readdirSync(join(directory, "bin"))).toEqual(["bash"]);
    for (const kind of ["docker-archive", "oci-archive", "oci"]) {
      const file = join(place, kind);
      const copy = spawnSync(
        "skopeo",
        ["--insecure-policy", "copy", `oci:${layout}:one`, `${kind}:${file}:mine:1`],
        { encoding: "utf8" },
      );
      expect(copy.status, copy.stderr).toBe(0);
      const found = await unpackImage(
        { image: file, tag: kind === "docker-archive" ? "docker.io/library/mine:1" : "mine:1" },
        { stateDirectory },
      ).catch((error: Error) => error);
      expect(found, kind).toMatchObject({ directory });
    }
  });
});
