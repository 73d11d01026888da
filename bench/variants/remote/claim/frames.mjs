// Messages of the design that is compared with: a JSON header behind its length.

const decoder = new TextDecoder();

export function pack(header) {
  const text = Buffer.from(JSON.stringify(header));
  const message = Buffer.alloc(4 + text.length);
  message.writeUInt32BE(text.length);
  text.copy(message, 4);
  return message;
}

export function unpack(message) {
  const length = new DataView(message.buffer, message.byteOffset).getUint32(0);
  return JSON.parse(decoder.decode(message.subarray(4, 4 + length)));
}

export const kStream = { name: "RUNS", subjects: ["run.>"] };
