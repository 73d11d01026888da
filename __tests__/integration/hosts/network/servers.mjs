// Servers of a made-up internet, on every address of this network namespace: HTTP at 80, HTTPS and
// HTTP/2 at 443, git over ssh at 22, one at 9000 that sends back what it gets, gRPC at 9001 and, with TLS, at 9443. `hits` is
// what has reached them.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import path from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import grpc from "@grpc/grpc-js";
import ssh2 from "ssh2";
import { kEcho } from "./echo-service.mjs";

/** What `/auth/` wants. */
export const kToken = "ghp_value-of-the-secret-0123456789";

const kBlock = Buffer.alloc(1 << 20, "x");

async function send(response, bytes) {
  for (let left = bytes; left > 0; left -= kBlock.length) {
    const block = left < kBlock.length ? kBlock.subarray(0, left) : kBlock;
    if (!response.write(block)) await once(response, "drain");
  }
  response.end();
}

/** What a CGI program says, as an answer. */
async function cgi(program, env, request, response) {
  const child = spawn(program, {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => {});
  const parts = [];
  for await (const part of child.stdout) parts.push(part);
  const all = Buffer.concat(parts);
  const end = all.indexOf("\r\n\r\n");
  let status = 200;
  for (const line of all.subarray(0, end).toString().split("\r\n")) {
    const [name, value] = line.split(/: (.*)/);
    if (name.toLowerCase() === "status") status = Number.parseInt(value, 10);
    else response.setHeader(name, value);
  }
  response.statusCode = status;
  response.end(all.subarray(end + 4));
}

/**
 * Git's large files: what a push uploads and a clone downloads, at paths that want the token too. `objects` has them by
 * their digests. The API's locks are not had here (404).
 */
async function largeFiles(pathname, authority, objects, request, response) {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const [, oid] = /\/lfs\/([0-9a-f]{64})$/.exec(pathname) ?? [];
  if (oid !== undefined && request.method === "PUT") {
    objects.set(createHash("sha256").update(body).digest("hex"), body);
    return response.end();
  }
  if (oid !== undefined) return response.end(objects.get(oid));
  response.setHeader("content-type", "application/vnd.git-lfs+json");
  if (!pathname.endsWith("/objects/batch")) {
    response.statusCode = 404;
    return response.end("{}");
  }
  const { operation, objects: asked } = JSON.parse(body.toString());
  const told = asked.map(({ oid: digest, size }) => {
    const isThere = objects.has(digest);
    const href = `https://${authority}/auth/lfs/${digest}`;
    if (operation === "upload") {
      return { oid: digest, size, ...(isThere ? {} : { actions: { upload: { href } } }) };
    }
    if (isThere) return { oid: digest, size, actions: { download: { href } } };
    return { oid: digest, size, error: { code: 404, message: "no such object" } };
  });
  return response.end(JSON.stringify({ transfer: "basic", objects: told }));
}

/** Serves files of `directory`, and some paths that do more. */
function answerFrom(directory, hits) {
  const objects = new Map();
  return async (request, response) => {
    const authority = request.headers.host ?? request.headers[":authority"];
    let { pathname } = new URL(request.url, "http://x");
    const { search } = new URL(request.url, "http://x");
    const isSecure = request.socket.encrypted === true;
    hits.push({
      at: isSecure ? 443 : 80,
      host: authority,
      url: request.url,
      sni: request.socket.servername,
      authorization: request.headers.authorization,
    });
    response.on("error", () => {});
    if (pathname.startsWith("/auth/")) {
      const { authorization = "" } = request.headers;
      const [scheme, coded = ""] = authorization.split(" ");
      const given = scheme === "Basic" ? Buffer.from(coded, "base64").toString() : coded;
      if (!given.endsWith(kToken)) {
        response.statusCode = 401;
        response.setHeader("www-authenticate", 'Basic realm="test"');
        return response.end("who are you?\n");
      }
      pathname = pathname.slice("/auth".length);
    }
    if (pathname.startsWith("/lfs/") || pathname.includes("/info/lfs/")) {
      return largeFiles(pathname, authority, objects, request, response);
    }
    if (pathname.startsWith("/git/")) {
      const env = {
        GIT_PROJECT_ROOT: path.join(directory, "git"),
        GIT_HTTP_EXPORT_ALL: "1",
        PATH_INFO: pathname.slice(4),
        QUERY_STRING: search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
        GIT_PROTOCOL: request.headers["git-protocol"] ?? "",
      };
      return cgi("/usr/lib/git-core/git-http-backend", env, request, response);
    }
    if (pathname === "/echo") {
      const body = [];
      for await (const part of request) body.push(part);
      const { method, url, headers } = request;
      response.setHeader("x-echo", headers.authorization ?? "none");
      const told = JSON.stringify({ method, url, headers, body: Buffer.concat(body).toString() });
      if (!/gzip/.test(headers["accept-encoding"] ?? "")) return response.end(`${told}\n`);
      response.setHeader("content-encoding", "gzip");
      return response.end(gzipSync(`${told}\n`));
    }
    if (pathname === "/drip") {
      // A byte at a time, so that no chunk holds what was sent.
      for (const byte of `<${request.headers.authorization}>\n`) {
        response.write(byte);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return response.end();
    }
    if (pathname.endsWith("/redirect")) {
      response.statusCode = 302;
      response.setHeader("location", search.slice(1));
      return response.end();
    }
    if (pathname === "/events") {
      response.setHeader("content-type", "text/event-stream");
      for (const count of [1, 2, 3]) {
        response.write(`data: ${count}\n\n`);
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      return response.end();
    }
    if (pathname === "/trailers") {
      if (request.httpVersionMajor === 1) response.setHeader("trailer", "x-sum");
      response.write("body\n");
      response.addTrailers({ "x-sum": `7 ${request.headers.authorization}` });
      return response.end();
    }
    if (pathname === "/large") return send(response, Number(search.slice(1)));
    if (pathname === "/slow") return setTimeout(() => response.end("slow\n"), 3000);
    if (pathname === "/upload") {
      const hash = createHash("sha256");
      let size = 0;
      for await (const part of request) {
        hash.update(part);
        size += part.length;
      }
      return response.end(`${size} ${hash.digest("hex")}\n`);
    }
    try {
      const name = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
      const file = readFileSync(path.join(directory, "files", authority.split(":")[0], name));
      if (name.endsWith(".html")) response.setHeader("content-type", "text/html");
      return response.end(file);
    } catch {
      return response.end(`hello from ${authority}\n`);
    }
  };
}

const listening = async (server, port) => {
  server.listen(port, "::");
  await once(server, "listening");
};

/** A WebSocket that sends back the payload of each short masked frame. */
function upgrade(request, socket) {
  const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  const accept = createHash("sha1")
    .update(request.headers["sec-websocket-key"] + guid)
    .digest("base64");
  socket.on("error", () => {});
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  socket.on("data", (frame) => {
    const length = frame[1] & 0x7f;
    const mask = frame.subarray(2, 6);
    const text = frame.subarray(6, 6 + length).map((byte, i) => byte ^ mask[i % 4]);
    socket.write(Buffer.concat([Buffer.from([0x81, length]), text]));
  });
}

/** git-upload-pack of what is in `directory`/git, for whoever has any key. */
function gitOverSsh(directory, hits) {
  // Of 300 ed25519 keys that ssh2 makes it can't read one.
  const hostKeys = [ssh2.utils.generateKeyPairSync("ecdsa", { bits: 256 }).private];
  return new ssh2.Server({ hostKeys }, (client) => {
    client.on("error", () => {});
    client.on("authentication", (context) => context.accept());
    client.on("session", (accept) => {
      accept().on("exec", (accepted, _rejected, { command }) => {
        hits.push({ at: 22, url: command });
        const stream = accepted();
        const repository = /^git-upload-pack '\/?(\w+)'$/.exec(command)?.[1] ?? "none";
        const git = spawn("git", ["upload-pack", path.join(directory, "git", repository)]);
        stream.pipe(git.stdin).on("error", () => {});
        git.stdout.pipe(stream, { end: false });
        git.on("close", (code) => {
          stream.exit(code ?? 1);
          stream.end();
        });
      });
    });
  });
}

/** Says each message of a stream once more. */
function grpcEcho(hits) {
  const server = new grpc.Server();
  const echo = (call) => {
    const [authorization] = call.metadata.get("authorization");
    hits.push({ at: 9001, authorization });
    call.on("data", (text) => call.write(text));
    call.on("end", () => call.end());
  };
  server.addService(kEcho, { echo });
  return server;
}

/** Resolves to { hits } when all listen. `key`, `cert`: files. */
export async function openServers({ directory, key, cert }) {
  const hits = [];
  const answer = answerFrom(directory, hits);
  const plain = http.createServer(answer).on("upgrade", upgrade);
  const secure = http2.createSecureServer(
    { key: readFileSync(key), cert: readFileSync(cert), allowHTTP1: true },
    answer,
  );
  secure.on("upgrade", upgrade);
  secure.on("tlsClientError", () => {});
  const echo = net.createServer({ allowHalfOpen: true }, (socket) => {
    hits.push({ at: 9000 });
    socket.on("error", () => {});
    socket.pipe(socket);
  });
  const calls = grpcEcho(hits);
  await Promise.all([
    listening(plain, 80),
    listening(secure, 443),
    listening(echo, 9000),
    listening(gitOverSsh(directory, hits), 22),
    promisify(calls.bindAsync.bind(calls))("[::]:9001", grpc.ServerCredentials.createInsecure()),
    promisify(calls.bindAsync.bind(calls))(
      "[::]:9443",
      grpc.ServerCredentials.createSsl(null, [
        { private_key: readFileSync(key), cert_chain: readFileSync(cert) },
      ]),
    ),
  ]);
  return { hits };
}
