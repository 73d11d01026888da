/** Which of the worker's variables pass. */

import type { EnvironmentPolicy } from "../../../../types/public.js";
import { listed, Refusal } from "../refusal.js";

const isNames = (policy: EnvironmentPolicy): policy is readonly string[] => Array.isArray(policy);

function quoted(policies: readonly string[]): string {
  return policies.map((each) => JSON.stringify(each)).join(" or ");
}

/**
 * "inherit" is wider than all, "clean" narrower than all, and a list than those that have its names. No
 * list is narrower than "scrub", which also looks at values: a name that it lists may carry a secret.
 */
export function narrowEnvironment(
  ceiling: EnvironmentPolicy,
  asked: EnvironmentPolicy | undefined,
): EnvironmentPolicy | Refusal {
  if (asked === undefined) return ceiling;
  const isEmpty = isNames(asked) && asked.length === 0;
  if (ceiling === "inherit" || asked === "clean" || isEmpty || asked === ceiling) return asked;
  if (!isNames(ceiling)) {
    const allowed = ceiling === "scrub" ? ["scrub", "clean"] : ["clean"];
    return new Refusal("envPolicy", asked, quoted(allowed));
  }
  const some = `some of ${listed(ceiling) || "no names"}, or "clean"`;
  if (!isNames(asked)) return new Refusal("envPolicy", asked, some);
  const at = asked.findIndex((name) => !ceiling.includes(name));
  return at < 0 ? asked : new Refusal(`envPolicy[${at}]`, asked[at], `one of ${listed(ceiling)}`);
}
