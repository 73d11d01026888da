import { checkTier, type TrustTier } from "./skill.js";

/**
 * Whether skills of this tier run behind the OS sandbox as well: untrusted ones, always.
 * @throws TypeError for what is no tier, so that a misspelt one is never taken for a trusted one.
 */
export function shouldUseOsSandbox(tier: TrustTier): boolean {
  return checkTier(tier) === "untrusted";
}
