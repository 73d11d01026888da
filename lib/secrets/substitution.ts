/** Puts credentials into a request, and finds placeholders that go where they must not. Pure. */

import { covers, type RequestTarget, type Target } from "./target.js";

/** How a secret gets into a request. */
export type Placement =
  | { as: "placeholder" }
  | { as: "bearer" }
  | { as: "basic"; username: string }
  | { as: "header"; header: string }
  | { as: "query"; query: string };

/** A secret of a run. */
export type RunSecret = {
  name: string;
  placeholder: string;
  targets: readonly Target[];
  placement: Placement;
};

/** A header field: name as sent, and value. */
export type Header = readonly [name: string, value: string];

export type Request = RequestTarget & {
  headers: readonly Header[];
  /** As it was sent, without "?". */
  query: string;
  /** As it was sent. */
  rawPath: string;
};

/** What is to be done with a request. */
export type Verdict =
  | { kind: "send"; needs: RunSecret[] }
  /** The placeholder is not for this host, port and path, or is where no value is put. */
  | { kind: "misused"; secret: RunSecret; where: string }
  /** It is for this host, and can't be put in. */
  | { kind: "unsupported"; secret: RunSecret; reason: string };

/** Signatures that are computed with a credential: with a placeholder they are wrong. */
const kSigned = /^(?:AWS4-[A-Z0-9-]+|Digest|NTLM|Negotiate|OAuth|Signature) /i;

const kBasic = /^(Basic +)([A-Za-z0-9+/=_-]+) *$/i;

const decodedBasic = (value: string): string | undefined => {
  const coded = kBasic.exec(value)?.[2];
  return coded === undefined ? undefined : Buffer.from(coded, "base64").toString("latin1");
};

/** The text with percent-codes decoded as far as they can be, twice at most. */
function decodedTwice(text: string): string[] {
  const decoded = [text];
  for (let times = 0; times < 2; times += 1) {
    const last = decoded.at(-1) ?? "";
    const next = last.replace(/%([0-9a-f]{2})/gi, (_, code) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
    if (next === last) break;
    decoded.push(next);
  }
  return decoded;
}

/** True if the text has the placeholder: as it is, in Basic's base64, in base64 at large, or percent-coded. */
function has(text: string, placeholder: string): boolean {
  const low = placeholder.toLowerCase();
  const isIn = (each: string) => each.toLowerCase().includes(low);
  if (decodedTwice(text).some(isIn)) return true;
  const words = text.match(/[A-Za-z0-9+/_-]{8,}={0,2}/g) ?? [];
  return words.some((word) => isIn(Buffer.from(word, "base64").toString("latin1")));
}

/** Where a request has the placeholder; undefined: nowhere that can be seen. */
function placeIn({ headers, query, rawPath }: Request, placeholder: string): string | undefined {
  for (const [name, value] of headers) {
    if (has(value, placeholder)) return `the header ${name.toLowerCase()}`;
    if (has(name, placeholder)) return "a header's name";
  }
  if (has(query, placeholder)) return "the query";
  return has(rawPath, placeholder) ? "the path" : undefined;
}

/**
 * Decides about a request: which secrets it needs, or which it misuses.
 * @param secrets all of the run, not only those of the host.
 */
export function judge(request: Request, secrets: readonly RunSecret[]): Verdict {
  const needs: RunSecret[] = [];
  let unsupported: Verdict | undefined;
  const signed = request.headers.find(
    ([name, value]) => name.toLowerCase() === "authorization" && kSigned.test(value),
  );
  for (const secret of secrets) {
    const isFor = secret.targets.some((target) => covers(target, request));
    const where = placeIn(request, secret.placeholder);
    if (where !== undefined && !isFor) return { kind: "misused", secret, where };
    const isSet = secret.placement.as !== "placeholder";
    if (!isFor || !(isSet || where !== undefined)) continue;
    needs.push(secret);
    if (isSet || signed === undefined || where !== "the header authorization") continue;
    const [scheme = ""] = signed[1].split(" ", 1);
    const reason = `${scheme} signs with the credential, which commands don't have`;
    unsupported ??= { kind: "unsupported", secret, reason };
  }
  return unsupported ?? { kind: "send", needs };
}

type Values = ReadonlyMap<RunSecret, string>;

function withPlaceholders(text: string, values: Values): string {
  let replaced = text;
  for (const [{ placeholder }, value] of values) replaced = replaced.replaceAll(placeholder, value);
  return replaced;
}

/** Texts that a server may echo, by what the command sent in their place. */
type Echoes = Map<string, string>;

function headerWith([name, value]: Header, values: Values, echoes: Echoes): Header {
  const basic = decodedBasic(value);
  if (basic === undefined) return [name, withPlaceholders(value, values)];
  const replaced = withPlaceholders(basic, values);
  if (replaced === basic) return [name, value];
  const [, scheme = "Basic "] = kBasic.exec(value) ?? [];
  const coded = Buffer.from(replaced, "latin1").toString("base64");
  echoes.set(coded, Buffer.from(basic, "latin1").toString("base64"));
  return [name, `${scheme}${coded}`];
}

/** Sets a parameter of a query without "?", and leaves the rest as it was written. */
function queryWith(query: string, parameter: string, value: string): string {
  const name = encodeURIComponent(parameter);
  const others = query.split("&").filter((each) => {
    const [key = ""] = each.split("=", 1);
    return each !== "" && !decodedTwice(key.replaceAll("+", " ")).includes(parameter);
  });
  return [...others, `${name}=${encodeURIComponent(value)}`].join("&");
}

function headersWith(headers: readonly Header[], name: string, value: string): Header[] {
  const isOther = ([each]: Header) => each.toLowerCase() !== name.toLowerCase();
  return [...headers.filter(isOther), [name, value]];
}

/**
 * Returns the request's headers and query with the values in them, and what else of them an answer may hold. `values`:
 * of all that `judge` found needed.
 */
export function substitute(
  { headers, query }: Pick<Request, "headers" | "query">,
  values: Values,
): { headers: Header[]; query: string; echoes: Echoes } {
  const echoes: Echoes = new Map();
  for (const [{ placeholder }, value] of values) {
    for (const code of [encodeURIComponent, (text: string) => JSON.stringify(text).slice(1, -1)]) {
      if (code(value) !== value) echoes.set(code(value), placeholder);
    }
  }
  const placed = [...values].filter(([{ placement }]) => placement.as === "placeholder");
  const replaced: Values = new Map(placed);
  const made = {
    headers: headers.map((header) => headerWith(header, replaced, echoes)),
    query: [...replaced].reduce(
      (text, [{ placeholder }, value]) => text.replaceAll(placeholder, encodeURIComponent(value)),
      query,
    ),
  };
  for (const [{ placement, placeholder }, value] of values) {
    switch (placement.as) {
      case "placeholder":
        break;
      case "bearer":
        made.headers = headersWith(made.headers, "Authorization", `Bearer ${value}`);
        break;
      case "basic": {
        const codedOf = (secret: string) =>
          Buffer.from(`${placement.username}:${secret}`).toString("base64");
        const coded = codedOf(value);
        echoes.set(coded, codedOf(placeholder));
        made.headers = headersWith(made.headers, "Authorization", `Basic ${coded}`);
        break;
      }
      case "header":
        made.headers = headersWith(made.headers, placement.header, value);
        break;
      case "query":
        made.query = queryWith(made.query, placement.query, value);
        break;
    }
  }
  return { ...made, echoes };
}
