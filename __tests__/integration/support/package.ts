/** The package under test, in one place. Host programs (hosts/*.mjs) import the built dist/. */
export * from "../../../lib/index.js";
