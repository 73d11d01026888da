// The licences of packages that a bundle has copies of.
import { readdirSync, readFileSync } from "node:fs";

/** Of each package among a bundle's inputs: its name, version and licence, which have to go with it. */
export function licencesOf(root, inputs) {
  const packages = new Set(
    inputs.flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []),
  );
  const texts = [...packages].sort().map((place) => {
    const { name, version, license } = JSON.parse(
      readFileSync(`${root}${place}/package.json`, "utf8"),
    );
    const file = readdirSync(`${root}${place}`).find((each) => /^licen[cs]e/i.test(each));
    const text =
      file === undefined ? license : readFileSync(`${root}${place}/${file}`, "utf8").trim();
    return `${name} ${version}\n\n${text}\n`;
  });
  return texts.join("\n----\n\n");
}
