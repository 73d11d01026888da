/** The addon is one with a sanitizer in it. */
export const isSanitized = ["asan", "tsan"].includes(
  process.env.OPENAGENTIC_NATIVE_RUNNER_PRESET ?? "",
);
