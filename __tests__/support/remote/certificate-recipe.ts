/** The recipe of docs/scale/tenants.md for an authority and a broker's certificate. */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const kPage = new URL("../../../docs/scale/tenants.md", import.meta.url);

/**
 * Follows it in a directory, which gets `ca.pem`, `broker.pem` and `broker.key`.
 * @param names in the place of the name that it shows
 */
export function followCertificateRecipe(cwd: string, names = "DNS:broker.example.org"): void {
  const [, recipe = "exit 1"] =
    /```sh\n(openssl req -x509.*?)```/s.exec(readFileSync(kPage, "utf8")) ?? [];
  const script = recipe.replace("DNS:broker.example.org", names);
  const { status, stderr } = spawnSync("sh", ["-e", "-c", script], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${script}: ${stderr}`);
}
