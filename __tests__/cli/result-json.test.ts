import { expect, it } from "vitest";

import { resultJson } from "../../lib/cli/run.js";
import { result } from "../support/fake-addon.js";

it("shows UTF-8 as text and says all else of the result", () => {
  const stdout = new TextEncoder().encode("\ufeffgrüße\0\n");
  const shown: unknown = JSON.parse(resultJson(result({ stdout, stdoutBytes: stdout.length })));
  expect(shown).toEqual({
    ...result(),
    stdout: "\ufeffgrüße\0\n",
    stderr: "",
    stdoutBytes: stdout.length,
  });
});

it("shows other bytes exactly, in base64, beside readable text", () => {
  const stderr = Uint8Array.of(0x61, 0xff, 0x62);
  const shown: unknown = JSON.parse(resultJson(result({ stderr })));
  expect(shown).toMatchObject({ stdout: "", stderr: "a\ufffdb", stderrBase64: "Yf9i" });
  expect(shown).not.toHaveProperty("stdoutBase64");
});

it("encodes the view, not the buffer behind it", () => {
  const stdout = Uint8Array.of(1, 0xff, 2).subarray(1, 2);
  expect(JSON.parse(resultJson(result({ stdout })))).toMatchObject({ stdoutBase64: "/w==" });
});
