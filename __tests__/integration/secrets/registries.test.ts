/** Registries that people use, with a placeholder for a token: what is published there comes back, the value stays outside. */

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { expect } from "vitest";

import { kModules, kNpm, lacks } from "../network/client-programs.js";
import { type End, kHere, makeWorld, type World } from "../network/made-up-internet.js";
import { whyNoOwnNetwork } from "../network/own-network.js";
import { installLocked, isInstalled, lockedPackages } from "../support/locked-packages.js";
import { kNodeProgram } from "../support/node-arguments.js";
import { describeUnless, testUnless, whyNoBubblewrap } from "../support/requirements.js";

const kPassword = "the-password-of-me-0123456789";
/** Of it, by bcrypt. */
const kHashed = "$2a$04$VRb9miG4CqIl2SMMAtCHfeoGjRgv58sqRJLQPpJJyzX6Bi/sz47DG";

const kName = "secrets-registry";
const kVerdaccio = "verdaccio/bin/verdaccio";
const kLocked = fileURLToPath(new URL("registry", import.meta.url));
const failure = installLocked(kName, kLocked, () => isInstalled(kName, kVerdaccio));
const whyNoVerdaccio =
  failure === undefined ? undefined : `verdaccio can't be installed: ${failure}`;

/** The requests had the secret put in, and nothing that a command or a record says has it. */
function expectPutIn({ out, err, requests = [], denials, error }: End, value: string): void {
  expect(error).toBeUndefined();
  expect(requests.some(({ secret }) => secret === "API_TOKEN")).toBe(true);
  expect(JSON.stringify([out, err, requests])).not.toContain(value);
  expect(denials ?? []).toEqual([]);
}

/** An image of one layer, as an OCI layout. */
function putImage(world: World): void {
  const blobs = join(world.workspace, "image/blobs/sha256");
  mkdirSync(blobs, { recursive: true });
  const put = (mediaType: string, content: Buffer) => {
    const hash = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(blobs, hash), content);
    return { mediaType, digest: `sha256:${hash}`, size: content.length };
  };
  const type = (kind: string) => `application/vnd.oci.image.${kind}`;
  const tar = Buffer.alloc(3 << 20, "x"); // nobody unpacks it
  const layer = put(type("layer.v1.tar+gzip"), gzipSync(tar, { level: 0 }));
  const diff = `sha256:${createHash("sha256").update(tar).digest("hex")}`;
  const about = {
    architecture: "amd64",
    os: "linux",
    rootfs: { type: "layers", diff_ids: [diff] },
  };
  const config = put(type("config.v1+json"), Buffer.from(JSON.stringify(about)));
  const text = JSON.stringify({ schemaVersion: 2, config, layers: [layer] });
  const manifest = put(type("manifest.v1+json"), Buffer.from(text));
  const named = { ...manifest, annotations: { "org.opencontainers.image.ref.name": "latest" } };
  const image = join(world.workspace, "image");
  writeFileSync(
    join(image, "index.json"),
    JSON.stringify({ schemaVersion: 2, manifests: [named] }),
  );
  writeFileSync(join(image, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
}

describeUnless(whyNoBubblewrap ?? whyNoOwnNetwork, "a registry that wants a token", () => {
  testUnless(
    whyNoVerdaccio,
    "npm publishes to verdaccio; npm and pnpm install it",
    async () => {
      const world = makeWorld([kModules]);
      writeFileSync(join(world.directory, "htpasswd"), `me:${kHashed}\n`);
      writeFileSync(join(world.directory, "htpasswd"), `me:${kHashed}\n`);
      const settings = `storage: ${world.directory}/storage
auth: { htpasswd: { file: ${world.directory}/htpasswd, max_users: -1 } }
packages: { "**": { access: $authenticated, publish: $authenticated } }
listen: https://0.0.0.0:4873
https: { key: ${world.key}, cert: ${world.cert} }
log: { type: stdout, level: warn }
`;
      writeFileSync(join(world.directory, "verdaccio.yaml"), settings);
      const program = join(lockedPackages(kName), kVerdaccio);
      const config = join(world.directory, "verdaccio.yaml");
      const verdaccio = { argv: [kNodeProgram, program, "--config", config], port: 4873 };
      const url = "https://registry.test:4873";
      const network = { allow: ["registry.test:4873"], ...kHere };

      // As `npm login` does.
      const body = JSON.stringify({ name: "me", password: kPassword });
      const login = `curl -sS -u me:${kPassword} -X PUT -H 'Content-Type: application/json' -d '${body}' ${url}/-/user/org.couchdb.user:me`;
      const [loggedIn] = await world.run([{ network, script: login }], [verdaccio]);
      const { token = "" } = JSON.parse(loggedIn?.out ?? "") as { token?: string };
      expect(token.length, loggedIn?.out).toBeGreaterThan(20);

      const npm = `${kNpm}; unset npm_config_cafile; mkdir /tmp/p /tmp/q; cd /tmp/p
      echo '//registry.test:4873/:_authToken=\${API_TOKEN}' > ~/.npmrc; echo registry=${url}/ >> ~/.npmrc`;
      const publish = `${npm}; echo '{"name":"mine","version":"1.0.0"}' > package.json
      head -c 3000000 /dev/urandom | base64 > large.txt; sha256sum < large.txt > sum; npm publish --silent > /dev/null && cat sum`;
      const install = `${npm}; echo '{}' > package.json; npm install --silent mine > /dev/null && sha256sum < node_modules/mine/large.txt
      cd /tmp/q; echo '{"dependencies":{"mine":"1.0.0"}}' > package.json
      node $PNPM/bin/pnpm.cjs install --silent --store-dir /tmp/store && sha256sum < node_modules/mine/large.txt`;
      const env = { PNPM: join(kModules, "pnpm") };
      const secrets = [{ name: "API_TOKEN", value: token, hosts: ["registry.test:4873"] }];
      const within = { ...network, secrets };
      const withNone = { script: `curl -sS -w " %{http_code}" ${url}/mine`, network };
      const jobs = [publish, install].map((script) => ({ script, env, network: within }));
      const [published, installed, refused] = await world.run([...jobs, withNone], [verdaccio]);
      expect(published?.out, published?.err).toMatch(/^[0-9a-f]{64} {2}-\n$/);
      expect(installed?.out, installed?.err).toBe(published?.out.repeat(2));
      expectPutIn(published as End, token);
      expectPutIn(installed as End, token);
      expect(refused?.out).toMatch(/ 401$/); // the control: it wants the token
    },
    300_000,
  );

  const whyNoImages = lacks("skopeo", "docker-registry");
  testUnless(
    whyNoImages,
    "skopeo copies an image to a registry and back",
    async () => {
      const world = makeWorld();
      putImage(world);
      writeFileSync(join(world.directory, "htpasswd"), `me:${kHashed}\n`);
      const settings = `version: 0.1
storage: { filesystem: { rootdirectory: ${world.directory}/images } }
http: { addr: ":5443", tls: { certificate: ${world.cert}, key: ${world.key} } }
auth: { htpasswd: { realm: test, path: ${world.directory}/htpasswd } }
`;
      const config = join(world.directory, "registry.yaml");
      writeFileSync(config, settings);
      const registry = { argv: ["docker-registry", "serve", config], port: 5443 };
      const network = { allow: ["registry.test:5443"], ...kHere };
      const secrets = [{ name: "API_TOKEN", value: kPassword, hosts: ["registry.test:5443"] }];
      const script = `skopeo="skopeo --insecure-policy"; at=docker://registry.test:5443/one:1; as="me:$API_TOKEN"
      $skopeo copy -q --dest-creds "$as" oci:image:latest $at && $skopeo copy -q --src-creds "$as" $at oci:/tmp/back:latest &&
      ls image/blobs/sha256 > /tmp/sent; ls /tmp/back/blobs/sha256 | cmp - /tmp/sent && echo same`;
      const jobs = [{ ...network, secrets }, network].map((each) => ({ script, network: each }));
      const [copied, refused] = await world.run(jobs, [registry]);
      expect(copied?.out, copied?.err).toBe("same\n");
      expectPutIn(copied as End, kPassword);
      expect(refused?.out).toBe(""); // the control
    },
    120_000,
  );
});
