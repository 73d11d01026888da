/** The options `network.secrets` and `network.http`: read once, checked, and what follows from them. */

import type { HttpRule, NetworkByDomain, Secret, SecretValue } from "../../types/network.js";
import { invalidType, invalidValue } from "../errors.js";
import { expectFields, type FieldsOf } from "../fields.js";
import { checkSecretValue } from "./placeholder.js";
import type { Placement } from "./substitution.js";
import { type HttpRuleTarget, readPath, readTarget, type Target } from "./target.js";

const kMostSecrets = 64;
const kMostRules = 1024;
const kTlsPort = 443;
const kPlainPort = 80;
/** The user name that forges take with a token. */
const kUsername = "x-access-token";

const kSecretFields: FieldsOf<Secret> = {
  name: true,
  value: true,
  hosts: true,
  as: true,
  username: true,
  onMisuse: true,
};
const kRuleFields: FieldsOf<HttpRule> = { host: true, methods: true, paths: true };

const kMostName = 64;
const kVariable = /^[A-Za-z_][A-Za-z0-9_]*$/;
const kToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Fields that say where a request goes and how its body is framed. */
const kFraming =
  /^(?:host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|proxy-.*)$/i;
/** Variables by which programs find the runner's authority, or run at all. */
const kTaken = /^(?:PATH|HOME|PWD|TERM|.*_CA_BUNDLE|SSL_CERT_.*|NODE_EXTRA_CA_CERTS)$/;

/** Values that are known, by the functions that stand for them. */
const sealed = new WeakMap<object, string>();

/**
 * Returns secrets whose texts are functions: what holds them may be printed or written. They are still known when a
 * run begins. Any value but an array of objects is returned as it is.
 */
export function sealedSecrets(secrets: unknown): unknown {
  if (!Array.isArray(secrets)) return secrets;
  return secrets.map((each: unknown) => {
    const value = (Object(each) as Partial<Secret>).value;
    if (typeof value !== "string") return each;
    const stands = () => value;
    sealed.set(stands, value);
    return { ...(each as object), value: stands };
  });
}

/** A secret as its option has it, checked. */
export type SecretRule = {
  name: string;
  value: string | (() => unknown);
  targets: readonly Target[];
  placement: Placement;
  endsRun: boolean;
};

/** The hosts whose TLS ends on the host, and what is done there. */
export type SecretsPolicy = {
  secrets: readonly SecretRule[];
  rules: readonly HttpRuleTarget[];
  /** All hosts of both. */
  targets: readonly Target[];
  /** The same as "host:port", as the addon reads an entry of `allow`. */
  hosts: readonly string[];
  /** Those without TLS, which are refused. */
  plain: readonly string[];
  /** The policy's text: a line each, without values. */
  texts: readonly string[];
};

function expectList(value: unknown, field: string, most: number): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidType(field, "an array", value);
  if (value.length > most) {
    throw invalidValue(
      `Expected \`${field}\` to have at most ${most} entries, got ${value.length}`,
    );
  }
  return value;
}

function expectText(value: unknown, field: string): string {
  if (typeof value !== "string") throw invalidType(field, "a string", value);
  return value;
}

const shown = (text: string) => JSON.stringify(text.slice(0, 200));

function readPlacement({ as, username }: Secret, field: string): Placement {
  if (username !== undefined && as !== "basic") {
    throw invalidValue(`Expected \`${field}.username\` to be left out unless \`as\` is "basic"`);
  }
  switch (as) {
    case undefined:
    case "placeholder":
      return { as: "placeholder" };
    case "bearer":
      return { as };
    case "basic": {
      const name = expectText(username ?? kUsername, `${field}.username`);
      if (!/^[\x20-\x39\x3b-\x7e]*$/.test(name)) {
        throw invalidValue(
          `Expected \`${field}.username\` to be printable ASCII without a colon, got ${shown(name)}`,
        );
      }
      return { as, username: name };
    }
    default:
      return readPlace(as, field);
  }
}

/** A header or a parameter. */
function readPlace(as: unknown, field: string): Placement {
  const expected = '"placeholder", "bearer", "basic", { header } or { query }';
  if (typeof as !== "object" || as === null) {
    const got = typeof as === "string" ? shown(as) : String(as);
    throw invalidValue(`Expected \`${field}.as\` to be ${expected}, got ${got}`);
  }
  expectFields(as, `${field}.as`, { header: true, query: true });
  const { header, query } = as as { header?: unknown; query?: unknown };
  if ((header === undefined) === (query === undefined)) {
    throw invalidValue(`Expected \`${field}.as\` to be ${expected}`);
  }
  if (query !== undefined) {
    const parameter = expectText(query, `${field}.as.query`);
    if (parameter !== "") return { as: "query", query: parameter };
    throw invalidValue(`Expected \`${field}.as.query\` to name a parameter, got ""`);
  }
  const name = expectText(header, `${field}.as.header`);
  if (!kToken.test(name) || kFraming.test(name)) {
    throw invalidValue(
      `Expected \`${field}.as.header\` to name a header that a request may choose, got ${shown(name)}`,
    );
  }
  return { as: "header", header: name };
}

/** Reads a variable's name; what is none may be a value at the wrong place. */
function readName(name: unknown, field: string): string {
  const expected = `Expected \`${field}\` to be a variable's name that commands can do without`;
  if (typeof name !== "string") throw invalidType(field, "a string", name);
  if (kTaken.test(name)) throw invalidValue(`${expected}, got ${shown(name)}`);
  if (kVariable.test(name) && name.length <= kMostName) return name;
  throw invalidValue(`${expected}, got a text of ${name.length} characters`);
}

/** Tells the type of what came, never a text: it may be a value. */
const wrongSecret = (field: string, expected: string, got: unknown): TypeError =>
  typeof got === "string"
    ? invalidValue(`Expected \`${field}\` to be ${expected}, got a string`)
    : invalidType(field, expected, got);

function readSecret(given: unknown, field: string): SecretRule {
  if (typeof given !== "object" || given === null) throw wrongSecret(field, "an object", given);
  expectFields(given, field, kSecretFields);
  const secret = given as Secret;
  const name = readName(secret.name, `${field}.name`);
  const value = sealed.get(Object(secret.value)) ?? secret.value;
  if (typeof value === "string") checkSecretValue(value, `${field}.value`);
  else if (typeof value !== "function") {
    // Never with what came: it may be the value.
    throw invalidValue(`Expected \`${field}.value\` to be a string or a function`);
  }
  const hosts = expectList(secret.hosts, `${field}.hosts`, kMostRules);
  if (hosts.length === 0) {
    throw invalidValue(`Expected \`${field}.hosts\` to name a host, got an empty list`);
  }
  const { onMisuse = "refuse" } = secret;
  if (onMisuse !== "refuse" && onMisuse !== "end") {
    throw invalidValue(
      `Expected \`${field}.onMisuse\` to be "refuse" or "end", got ${shown(String(onMisuse))}`,
    );
  }
  return {
    name,
    value,
    targets: hosts.map((host, at) => {
      const label = `${field}.hosts[${at}]`;
      return readTarget(expectText(host, label), label);
    }),
    placement: readPlacement(secret, field),
    endsRun: onMisuse === "end",
  };
}

function readMethods(given: unknown, field: string): readonly string[] | undefined {
  if (given === undefined) return undefined;
  return expectList(given, field, kMostRules).map((each, at) => {
    const method = expectText(each, `${field}[${at}]`);
    if (kToken.test(method) && method === method.toUpperCase()) return method;
    throw invalidValue(
      `Expected \`${field}[${at}]\` to be a method in upper case, got ${shown(method)}`,
    );
  });
}

function readPaths(given: unknown, field: string): readonly (readonly string[])[] | undefined {
  if (given === undefined) return undefined;
  return expectList(given, field, kMostRules).map((each, at) => {
    const text = expectText(each, `${field}[${at}]`);
    const path = readPath(text);
    if (path !== undefined) return path;
    throw invalidValue(
      `Expected \`${field}[${at}]\` to be a path, whose last segment may be "*", got ${shown(text)}`,
    );
  });
}

function readRule(given: unknown, field: string): HttpRuleTarget {
  if (typeof given !== "object" || given === null) throw invalidType(field, "an object", given);
  expectFields(given, field, kRuleFields);
  const { host, methods, paths } = given as HttpRule;
  const text = expectText(host, `${field}.host`);
  const target = readTarget(text, `${field}.host`);
  if (target.path !== undefined) {
    throw invalidValue(`Expected \`${field}.host\` to be without a path: \`paths\` has it`);
  }
  return {
    target,
    methods: readMethods(methods, `${field}.methods`),
    paths: readPaths(paths, `${field}.paths`),
  };
}

const placeOf = ({ host, port }: Target) => `${host}:${port ?? kTlsPort}`;
const pathText = (path: readonly string[] | undefined) => (path ? `/${path.join("/")}` : "");

function placementText(placement: Placement): string {
  switch (placement.as) {
    case "basic":
      return `basic ${JSON.stringify(placement.username)}`;
    case "header":
      return `header ${placement.header.toLowerCase()}`;
    case "query":
      return `query ${JSON.stringify(placement.query)}`;
    default:
      return placement.as;
  }
}

function textsOf(secrets: readonly SecretRule[], rules: readonly HttpRuleTarget[]): string[] {
  const ofSecrets = secrets.map(({ name, targets, placement, endsRun }) => {
    const places = targets.map((target) => placeOf(target) + pathText(target.path)).sort();
    const end = endsRun ? " end" : "";
    return `secret ${name} ${placementText(placement)}${end} ${JSON.stringify(places)}`;
  });
  const ofRules = rules.map(({ target, methods, paths }) => {
    const which = methods === undefined ? "*" : [...methods].sort().join(",");
    const where = paths === undefined ? "*" : JSON.stringify(paths.map(pathText).sort());
    return `http ${placeOf(target)} ${which} ${where}`;
  });
  return [...ofSecrets, ...ofRules].sort();
}

/**
 * Reads both options; undefined if nothing is to be done.
 * @throws TypeError naming the field; never with a value in it.
 */
export function secretsPolicy({
  secrets,
  http,
}: Pick<NetworkByDomain, "secrets" | "http">): SecretsPolicy | undefined {
  if (secrets !== undefined && !Array.isArray(secrets)) {
    throw wrongSecret("network.secrets", "an array", secrets);
  }
  const read = expectList(secrets ?? [], "network.secrets", kMostSecrets).map((each, at) =>
    readSecret(each, `network.secrets[${at}]`),
  );
  const names = read.map(({ name }) => name);
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (twice >= 0) {
    throw invalidValue(
      `Expected \`network.secrets[${twice}].name\` to be another than those before, got ${shown(names[twice] ?? "")}`,
    );
  }
  for (const [at, { value }] of read.entries()) {
    const isIn = ({ value: other }: SecretRule, index: number) =>
      index !== at &&
      typeof other === "string" &&
      typeof value === "string" &&
      other.includes(value);
    if (read.some(isIn)) {
      throw invalidValue(
        `Expected \`network.secrets[${at}].value\` to be no part of another secret's value`,
      );
    }
  }
  const rules = expectList(http ?? [], "network.http", kMostRules).map((each, at) =>
    readRule(each, `network.http[${at}]`),
  );
  if (read.length === 0 && rules.length === 0) return undefined;
  const targets = [
    ...read.flatMap((secret) => secret.targets),
    ...rules.map(({ target }) => target),
  ];
  const withoutPort = rules.filter(({ target }) => target.port === undefined);
  return {
    secrets: read,
    rules,
    targets,
    hosts: [...new Set(targets.map(placeOf))],
    plain: [...new Set(withoutPort.map(({ target }) => `${target.host}:${kPlainPort}`))],
    texts: textsOf(read, rules),
  };
}

/** Reads what a function has given as a value; undefined: neither a text nor a {@link SecretValue}. */
export function givenValue(
  given: unknown,
): { value: string; expiresMs: number | undefined } | undefined {
  if (typeof given === "string") return { value: given, expiresMs: undefined };
  if (typeof given !== "object" || given === null) return undefined;
  const { value, expiresAt } = given as Partial<SecretValue>;
  if (typeof value !== "string" || !(expiresAt instanceof Date)) return undefined;
  const expiresMs = expiresAt.getTime();
  return Number.isNaN(expiresMs) ? undefined : { value, expiresMs };
}
