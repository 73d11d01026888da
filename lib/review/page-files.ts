/** The page's own files, as the build has made them. */

import { readFile } from "node:fs/promises";

import { SandboxError } from "../errors.js";

/** Also for the sources, which are in another place. */
const kDirectory = new URL("../../dist/review/page/", import.meta.url);
const kTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8", // the licences of what is bundled
};
const kName = /^[\w-]+\.(html|js|css|svg|txt)$/;

export type PageFile = { type: string; text: string };

/** Undefined for what is no file of the page's. @param nonce what styles that scripts add have. */
export async function pageFile(path: string, nonce: string): Promise<PageFile | undefined> {
  const name = path === "" ? "index.html" : path;
  const ending = kName.exec(name)?.[1] ?? "";
  const type = kTypes[ending];
  if (type === undefined) return undefined;
  try {
    const text = await readFile(new URL(name, kDirectory), "utf8");
    return { type, text: ending === "html" ? text.replaceAll("__NONCE__", nonce) : text };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** @throws (rejects) SandboxError where the package was built without its page. */
export async function expectPage(): Promise<void> {
  if ((await pageFile("", "")) !== undefined) return;
  throw new SandboxError("the review page was not built", {
    code: "ERR_SANDBOX_UNAVAILABLE",
    fix: "npm run build",
  });
}
