/** Who may speak to the page's server, and what it never does. */

import { connect } from "node:net";
import { expect, test } from "vitest";

import { serveReview } from "../../../lib/review/serve-review.js";
import { BubblewrapNativeRunner } from "../support/package.js";
import { describeSandboxed } from "../support/requirements.js";
import { run } from "../support/results.js";
import { openTransaction, project } from "../support/transactions.js";
import { ask, type Served, served } from "./review-server.js";

/** Each request as the page itself makes it, but for one thing. */
const kRefused: readonly (readonly [string, number, (at: Served) => Parameters<typeof ask>])[] = [
  ["no token", 404, ({ base }) => [base, "/api/changes"]],
  ["another token", 404, ({ base }) => [base, `/${"x".repeat(43)}/api/changes`]],
  ["the token's beginning", 404, ({ base }) => [base, `${base.pathname.slice(0, -2)}/api/changes`]],
  ["the token as a query", 404, ({ base }) => [base, `/?token=${base.pathname.slice(1, -1)}`]],
  [
    "another name for this address (DNS rebinding)",
    421,
    ({ base }) => [base, base.pathname, { headers: { host: `evil.example:${base.port}` } }],
  ],
  [
    "another port in Host",
    421,
    ({ base }) => [base, base.pathname, { headers: { host: "127.0.0.1:1" } }],
  ],
  [
    "another page's Origin",
    403,
    ({ base }) => [
      base,
      `${base.pathname}api/changes`,
      { headers: { origin: "http://evil.example" } },
    ],
  ],
  [
    "an Origin of another port of this host",
    403,
    ({ base }) => [
      base,
      `${base.pathname}api/changes`,
      { headers: { origin: "http://127.0.0.1:1" } },
    ],
  ],
  [
    "a page of another site, which says no Origin",
    403,
    ({ base }) => [
      base,
      `${base.pathname}api/file?path=a.txt&side=after`,
      { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" } },
    ],
  ],
  [
    "a page of another port, as a form would",
    403,
    ({ base }) => [
      base,
      `${base.pathname}api/discard`,
      {
        method: "POST",
        body: "{}",
        headers: { "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" },
      },
    ],
  ],
  [
    "a null Origin",
    403,
    ({ base }) => [
      base,
      `${base.pathname}api/discard`,
      { method: "POST", body: "{}", headers: { origin: "null" } },
    ],
  ],
  [
    "what is no JSON by its type",
    415,
    ({ base }) => [
      base,
      `${base.pathname}api/discard`,
      { method: "POST", body: "{}", headers: { "content-type": "text/plain" } },
    ],
  ],
  ["another method", 405, ({ base }) => [base, `${base.pathname}api/changes`, { method: "PUT" }]],
  ...(["PATCH", "DELETE"] as const).map(
    (method) =>
      [
        `${method} of what does not have it`,
        405,
        ({ base }: Served): Parameters<typeof ask> => [
          base,
          `${base.pathname}api/changes`,
          { method, body: "{}", headers: { origin: base.origin } },
        ],
      ] as const,
  ),
];

describeSandboxed("the review page's server", () => {
  test.each(kRefused)("refuses %s", async (_, status, asked) => {
    const at = await served(project());
    await run(at.transaction, "echo mine > a.txt");
    const reply = await ask(...asked(at));
    expect(reply.status).toBe(status);
    expect(reply.body.toString()).not.toContain("a.txt");
    expect(await at.transaction.changes()).toHaveLength(1);
    // As it should be, the same is answered.
    const own = await ask(at.base, `${at.base.pathname}api/changes`, {
      headers: { origin: at.base.origin, "sec-fetch-site": "same-origin" },
    });
    expect(own.status).toBe(200);
    expect(own.body.toString()).toContain("a.txt");
  });

  test("a POST without an Origin, as no browser sends it, is refused", async () => {
    const { base, transaction } = await served(project());
    await run(transaction, "echo mine > a.txt");
    const reply = await ask(base, `${base.pathname}api/discard`, {
      method: "POST",
      body: "{}",
      headers: { origin: "" },
    });
    expect(reply.status).toBe(403);
    expect(await transaction.changes()).toHaveLength(1);
  });

  const comment = { path: "a.txt", side: "after", text: "why?" };
  test.each([
    ["POST", comment],
    ["PATCH", { id: "c1", text: "other" }],
    ["DELETE", { id: "c1" }],
  ])("comments take %s from the page alone", async (method, body) => {
    const { base, transaction, review } = await served(project());
    await run(transaction, "echo mine > a.txt");
    const own = { origin: base.origin, "content-type": "application/json" };
    const path = `${base.pathname}api/comments`;
    const send = (headers: Record<string, string>, to = path) =>
      ask(base, to, { method, body: JSON.stringify(body), headers: { ...own, ...headers } });
    if (method !== "POST") {
      await ask(base, path, { method: "POST", body: JSON.stringify(comment), headers: own });
    }
    const before = await review.comments();
    expect((await send({}, `/${"x".repeat(43)}/api/comments`)).status).toBe(404);
    expect((await send({ origin: "http://evil.example" })).status).toBe(403);
    expect((await send({ origin: "" })).status).toBe(403);
    expect((await send({ "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await send({ host: `evil.example:${base.port}` })).status).toBe(421);
    expect((await send({ "content-type": "text/plain" })).status).toBe(415);
    expect(await review.comments()).toEqual(before);
    expect((await send({})).status).toBe(200);
    expect(await review.comments()).not.toEqual(before);
  });

  test("a link that somebody follows shows the page", async () => {
    const { base } = await served(project());
    const reply = await ask(base, base.pathname, {
      headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
    });
    expect(reply.status).toBe(200);
    expect(reply.headers["content-type"]).toContain("text/html");
  });

  test("listens on the loopback alone", async () => {
    const { base } = await served(project());
    const { networkInterfaces } = await import("node:os");
    const others = Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4");
    for (const { address } of others) {
      const reached = await new Promise((resolve) => {
        const socket = connect({ host: address, port: Number(base.port) });
        socket.once("connect", () => resolve(true));
        socket.once("error", () => resolve(false));
      });
      expect(reached, address).toBe(false);
    }
    expect(base.hostname).toBe("127.0.0.1");
  });

  test("every answer forbids what is not the page's own", async () => {
    const { base, transaction } = await served(project());
    await run(transaction, "echo mine > a.txt; echo '<script>' > x.html; echo '<svg/>' > x.svg");
    for (const path of ["", "app.js", "api/changes", "none", "../secret", "api/file?path=none"]) {
      const { headers } = await ask(base, `${base.pathname}${path}`);
      const policy = String(headers["content-security-policy"]);
      expect(policy, path).toContain("default-src 'none'");
      expect(policy).not.toContain("script-src 'self' 'unsafe");
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("no-referrer");
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers).not.toHaveProperty("access-control-allow-origin");
    }
    for (const path of ["x.html", "x.svg"]) {
      const asked = `${base.pathname}api/file?path=${path}&side=after`;
      const { headers } = await ask(base, asked);
      expect(headers["content-type"]).toBe("text/plain; charset=utf-8");
      expect(headers["content-security-policy"]).toContain("sandbox");
    }
    const drawing = await ask(base, `${base.pathname}api/file?path=x.svg&side=after&as=picture`);
    expect(drawing.headers["content-type"]).toBe("image/svg+xml");
    const asDocument = await ask(
      base,
      `${base.pathname}api/file?path=x.svg&side=after&as=picture`,
      { headers: { "sec-fetch-dest": "document" } },
    );
    expect(asDocument.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(drawing.headers["content-security-policy"]).toContain("sandbox");
  });

  test("two pages have two tokens of 256 bits", async () => {
    const one = await served(project());
    const other = await served(project());
    expect(one.base.pathname).toMatch(/^\/[\w-]{43}\/$/);
    expect(one.base.pathname).not.toBe(other.base.pathname);
  });

  test("ends with close, also while a page listens", async () => {
    const { base, review, transaction } = await served(project());
    const listening = ask(base, `${base.pathname}api/events`).catch(() => "ended");
    await expect.poll(async () => (await ask(base, base.pathname)).status).toBe(200);
    await review.close();
    await listening;
    await expect(ask(base, base.pathname)).rejects.toThrow(/ECONNREFUSED/);
    expect(await run(transaction, "echo still")).toMatchObject({ out: "still" });
  });

  test("misuse is told by name", async () => {
    const { transaction, runner } = await openTransaction(project());
    const wrong = (options: object) => serveReview({ transaction, runner, ...options } as never);
    await expect(wrong({ port: 70_000 })).rejects.toThrow(/`port`/);
    await expect(wrong({ prot: 1 })).rejects.toThrow(/"prot".*`port`/s);
    await expect(wrong({ transaction: {} })).rejects.toThrow(/transaction/);
    await expect(wrong({ runner: {} })).rejects.toThrow(/runner/);
    await expect(wrong({ workspace: 7 })).rejects.toThrow(/workspace/);
    expect(runner).toBeInstanceOf(BubblewrapNativeRunner);
    await using good = await serveReview({ transaction, runner });
    expect(good.url).toContain("127.0.0.1");
    await transaction.discard();
  });
});
