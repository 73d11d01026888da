import OpenAI from "openai";

import { Failure } from "../failure.js";

/**
 * The client for any endpoint that speaks the chat completions interface. It reads OPENAI_API_KEY and
 * OPENAI_BASE_URL itself; one's own endpoint may do without a key.
 *
 * @param {NodeJS.ProcessEnv} env
 */
export function makeClient(env) {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseURL } = env;
  if (!apiKey && !baseURL) {
    const fix = "set it, or OPENAI_BASE_URL to an endpoint that needs none";
    throw new Failure(`OPENAI_API_KEY is not set; ${fix}`, { exitCode: 2 });
  }
  return new OpenAI({ apiKey: apiKey || "none", baseURL: baseURL || undefined });
}
