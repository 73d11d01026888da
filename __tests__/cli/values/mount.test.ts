import { resolve } from "node:path";
import { describe, expect, it } from "vitest";

import { parseMount } from "../../../lib/cli/values.js";

describe("parseMount", () => {
  it.each([
    ["/srv", { hostPath: "/srv", mode: "ro" }],
    ["/srv:ro", { hostPath: "/srv", mode: "ro" }],
    ["/srv:rw", { hostPath: "/srv", mode: "rw" }],
    ["/srv:/data", { hostPath: "/srv", guestPath: "/data", mode: "ro" }],
    ["/srv:/data:rw", { hostPath: "/srv", guestPath: "/data", mode: "rw" }],
    ["sub/../x", { hostPath: resolve("x"), mode: "ro" }],
    ["ro", { hostPath: resolve("ro"), mode: "ro" }],
    ["a b:/c d:ro", { hostPath: resolve("a b"), guestPath: "/c d", mode: "ro" }],
  ])("takes %j", (text, mount) => expect(parseMount(text)).toEqual(mount));

  it.each([
    "",
    ":",
    ":/data",
    ":rw",
    "/srv:data",
    "/srv:",
    "/srv::ro",
    "/srv:/data:x",
    "/srv:/a:/b",
    "/srv:/a:/b:ro",
    "/srv:RW",
  ])("refuses %j", (text) => expect(parseMount(text)).toBeUndefined());
});
