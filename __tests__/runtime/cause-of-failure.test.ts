import { describe, expect, it } from "vitest";

import { SandboxError } from "../../lib/errors.js";
import { AvailabilityCache } from "../../lib/runtime/configured-runtime.js";
import { kKinds } from "../../lib/runtime/kinds.js";
import { parseRuntimeConfig } from "../../lib/runtime/parse-config.js";
import {
  commonCause,
  type RuntimeAvailability,
  type RuntimeStep,
  RuntimeUnavailableError,
  withCause,
} from "../../lib/runtime/runtime.js";

const kThrown = new SandboxError("no bwrap", { code: "ERR_SANDBOX_UNAVAILABLE" });
const step = (cause?: unknown): RuntimeStep =>
  withCause({ name: "bubblewrap" as const, available: false, reason: "no bwrap" }, cause);

describe("a cause", () => {
  it("is there, and in no report", () => {
    expect(step(kThrown).cause).toBe(kThrown);
    expect(JSON.stringify(step(kThrown))).toBe(JSON.stringify(step()));
    expect("cause" in step()).toBe(false);
  });

  it("outlives the cache as it was thrown", async () => {
    const missing: RuntimeAvailability = {
      available: false,
      state: "missing",
      layers: [],
      probes: [],
    };
    const cache = new AvailabilityCache(async () => withCause({ ...missing }, kThrown));
    for (let asked = 0; asked < 2; asked += 1) {
      const found = await cache.get(kKinds.bubblewrap, parseRuntimeConfig({}));
      expect(found.cause).toBe(kThrown);
      expect(found).toEqual(missing);
    }
  });

  it("of several is all of them", () => {
    const other = new Error("no Landlock");
    expect(commonCause([step(), step(kThrown)])).toBe(kThrown);
    expect(commonCause([step()])).toBeUndefined();
    expect(commonCause([step(kThrown), step(other)])).toMatchObject({ errors: [kThrown, other] });
  });

  it("is that of a RuntimeUnavailableError", () => {
    expect(new RuntimeUnavailableError("none", [step(kThrown)]).cause).toBe(kThrown);
    expect("cause" in new RuntimeUnavailableError("none", [step()])).toBe(false);
  });
});
