/** Who may speak to a review page: a browser on this host, from the page's own address, with its token. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

const digest = (text: string) => createHash("sha256").update(text).digest();

/** What the request is for, behind the token; or why it is refused. */
export type Admission = { path: string } | { status: number; why: string };

/**
 * Checks, in this order: Host (another name for this address is DNS rebinding), where the request
 * comes from (Origin and Sec-Fetch-Site, which a page can't choose), the token, the method.
 */
export function makeGate(token: string, port: () => number) {
  const wanted = digest(token);
  return ({ method = "", url = "", headers }: IncomingMessage): Admission => {
    const hosts = [`127.0.0.1:${port()}`, `localhost:${port()}`];
    if (!hosts.includes(headers.host ?? "")) {
      return { status: 421, why: "this is not the address of the review page" };
    }
    const { origin } = headers;
    const site = headers["sec-fetch-site"] ?? "none";
    // A link that somebody follows: it shows the page, which the token lets them do.
    const isVisit = method === "GET" && headers["sec-fetch-mode"] === "navigate";
    const isOwn = origin === undefined || hosts.some((host) => origin === `http://${host}`);
    if (!isOwn || !(isVisit || ["none", "same-origin"].includes(String(site)))) {
      return { status: 403, why: "another page may not use the review page" };
    }
    const [, given = "", ...rest] = url.split("?", 1).join("").split("/");
    if (!timingSafeEqual(digest(given), wanted) || rest.length === 0) {
      return { status: 404, why: "the address has no token, or another one" };
    }
    if (method !== "GET" && method !== "HEAD" && method !== "POST") {
      return { status: 405, why: `${method} is not a method of the review page` };
    }
    if (method === "POST" && origin === undefined) {
      return { status: 403, why: "Expected an Origin" };
    }
    return { path: rest.join("/") };
  };
}
