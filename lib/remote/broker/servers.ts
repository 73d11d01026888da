/** The addresses of a broker, and which of them are of this machine alone. */

import { BlockList, isIP } from "node:net";

import { invalidType, invalidValue } from "../../errors.js";

/** One server. */
export type BrokerServer = {
  /** As it was given. */
  url: string;
  /** Whether the URL says that it is to be spoken to by TLS alone. */
  isTls: boolean;
  /** A name or an address, without brackets. */
  hostname: string;
};

const kMostServers = 64;
const kWanted = 'a URL such as "tls://broker.test:4222" or "nats://127.0.0.1:4222"';

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether nobody else than this machine can be behind it. */
export function isLoopback(hostname: string): boolean {
  const family = isIP(hostname);
  if (family === 0) return hostname === "localhost";
  return loopback.check(hostname, family === 4 ? "ipv4" : "ipv6");
}

function readServer(url: unknown, field: string): BrokerServer {
  if (typeof url !== "string") throw invalidType(field, "a string", url);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  // What is shown has no credentials in it.
  const shown = url.replace(/\/\/.*@/s, "//…@").slice(0, 200);
  if (parsed !== undefined && (parsed.username !== "" || parsed.password !== "")) {
    const fix = "they belong into `credentials`, since URLs are shown in messages";
    throw invalidValue(
      `Expected \`${field}\` to have no credentials in it (${fix}), got "${shown}"`,
    );
  }
  const isKnown = parsed?.protocol === "tls:" || parsed?.protocol === "nats:";
  const isBare = ["", "/"].includes(parsed?.pathname ?? "?") && !/[?#\s]/.test(url);
  if (!isKnown || !isBare || parsed.hostname === "") {
    throw invalidValue(`Expected \`${field}\` to be ${kWanted}, got "${shown}"`);
  }
  const hostname = parsed.hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  return { url, isTls: parsed.protocol === "tls:", hostname };
}

/** @throws TypeError that names the server. */
export function readServers(servers: unknown): BrokerServer[] {
  if (!Array.isArray(servers)) throw invalidType("servers", "an array of URLs", servers);
  if (servers.length === 0 || servers.length > kMostServers) {
    throw invalidValue(
      `Expected \`servers\` to have 1 to ${kMostServers} URLs, got ${servers.length}`,
    );
  }
  return servers.map((url: unknown, at) => readServer(url, `servers[${at}]`));
}
