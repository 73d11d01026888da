// Where a release comes from, as an in-toto statement of SLSA's build provenance, version 1: what was
// made, of which commit, by which tools. Unsigned: `npm publish --provenance` has the registry's signed.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { zigProgram } from "../lib/npm/zig.mjs";
import { packageJson } from "../lib/project.mjs";
import { outputOf } from "../lib/run.mjs";

const versionOf = (program, ...words) => outputOf(program, words)?.split("\n")[0];

const digestOf = (file) => ({
  sha512: createHash("sha512").update(readFileSync(file)).digest("hex"),
});

/** @param tarball its file. @param binaries { name: file }. @param commit what it was built from. */
export function statementOf(tarball, binaries, commit) {
  const { name, version, repository } = packageJson();
  const isForMusl = Object.keys(binaries).some((each) => each.includes("-musl/"));
  const page = (file) => `pkg:npm/${name.replace("@", "%40")}@${version}#${file}`;
  const subject = [
    { name: path.basename(tarball), digest: digestOf(tarball) },
    ...Object.entries(binaries).map(([each, file]) => ({ name: each, digest: digestOf(file) })),
  ];
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject,
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: page("docs/contributing/release.md"),
        externalParameters: { package: name, version },
        resolvedDependencies: [
          { ...(repository && { uri: repository.url }), digest: { gitCommit: commit } },
        ],
      },
      runDetails: {
        builder: {
          id: page("scripts/release.mjs"),
          version: {
            node: process.version,
            npm: versionOf("npm", "--version"),
            "g++": versionOf("g++", "--version"),
            "aarch64-linux-gnu-g++": versionOf("aarch64-linux-gnu-g++", "--version"),
            ...(isForMusl && { zig: outputOf(zigProgram(), ["version"])?.trim() }),
            binutils: versionOf("ld", "--version"),
          },
        },
      },
    },
  };
}
