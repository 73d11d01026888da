/** The protocols that a TLS client offers, read before its handshake begins: the server must offer the same. */

const kHandshake = 22;
const kClientHello = 1;
const kAlpn = 16;
const kMostBytes = 64 * 1024;

/** A position in the bytes; reading past the end throws RangeError, as Buffer does. */
class Reader {
  readonly bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.length - this.#at;
  }

  number(size: 1 | 2 | 3): number {
    const value = this.bytes.readUIntBE(this.#at, size);
    this.#at += size;
    return value;
  }

  /** The next bytes, of a length that comes before them. */
  vector(size: 1 | 2 | 3): Reader {
    const length = this.number(size);
    if (length > this.left) throw new RangeError("it is cut off");
    const part = new Reader(this.bytes.subarray(this.#at, this.#at + length));
    this.#at += length;
    return part;
  }

  skip(size: number): void {
    if (size > this.left) throw new RangeError("it is cut off");
    this.#at += size;
  }

  text(): string {
    return this.bytes.toString("latin1", this.#at);
  }
}

/** The message of the records; undefined while there is more to come. */
function helloOf(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at + 5 <= bytes.length; ) {
    if (bytes[at] !== kHandshake) throw new RangeError("it is no handshake");
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    if (end > bytes.length) break;
    parts.push(bytes.subarray(at + 5, end));
    at = end;
  }
  const message = Buffer.concat(parts);
  return message.length >= 4 && message.length >= 4 + message.readUIntBE(1, 3)
    ? message
    : undefined;
}

/**
 * Returns the protocols that a ClientHello offers by ALPN (RFC 7301), in its order; undefined while it is not whole.
 * @throws RangeError if it is none.
 */
export function offeredProtocols(bytes: Buffer): string[] | undefined {
  if (bytes.length > kMostBytes) throw new RangeError("it is too long");
  const message = helloOf(bytes);
  if (message === undefined) return undefined;
  const all = new Reader(message);
  if (all.number(1) !== kClientHello) throw new RangeError("it is no ClientHello");
  const hello = all.vector(3);
  hello.skip(2 + 32);
  hello.vector(1);
  hello.vector(2);
  hello.vector(1);
  if (hello.left === 0) return [];
  const extensions = hello.vector(2);
  while (extensions.left > 0) {
    const kind = extensions.number(2);
    const body = extensions.vector(2);
    if (kind !== kAlpn) continue;
    const list = body.vector(2);
    const names: string[] = [];
    while (list.left > 0) names.push(list.vector(1).text());
    return names;
  }
  return [];
}
