/** Who may speak to the HTTP server: a client on this host that has the token. */

import { createHash, timingSafeEqual } from "node:crypto";

import type { McpSdk } from "../sdk.js";

const digest = (text: string) => createHash("sha256").update(text).digest();

/**
 * Refuses another Host (DNS rebinding), an Origin that is not this host's (a page in a browser), and who
 * has not the token; undefined for what may go on.
 */
export function makeGate(token: string, sdk: McpSdk): (request: Request) => Response | undefined {
  const wanted = digest(`Bearer ${token}`);
  return (request) => {
    const refused =
      sdk.hostHeaderValidationResponse(request, sdk.localhostAllowedHostnames()) ??
      sdk.originValidationResponse(request, sdk.localhostAllowedOrigins());
    if (refused !== undefined) return refused;
    const given = digest(request.headers.get("authorization") ?? "");
    if (timingSafeEqual(given, wanted)) return undefined;
    return new Response("a bearer token is wanted\n", {
      status: 401,
      headers: { "www-authenticate": "Bearer" },
    });
  };
}
