import type { Frame, Inbox } from "../../../lib/remote/wire/frame.js";

/** The frames that an inbox has when it is given a message; throws what it refuses. */
export function framesOf(inbox: Inbox, message: Uint8Array): Frame[] {
  const frames: Frame[] = [];
  const refuse = (why: Error) => {
    throw why;
  };
  inbox.receive(message, (frame) => frames.push(frame), refuse);
  return frames;
}
