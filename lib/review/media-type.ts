/** How a file's bytes are sent to the page: as a picture, or as text that nothing obeys. Pure. */

const kPictures: Readonly<Record<string, string>> = {
  avif: "image/avif",
  bmp: "image/bmp",
  gif: "image/gif",
  ico: "image/x-icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  png: "image/png",
  webp: "image/webp",
};

/** Never HTML, and SVG only where a picture is asked for: scripts of one in <img> don't run. */
export function mediaTypeOf(path: string, asPicture = false): string {
  const ending = path.slice(path.lastIndexOf(".") + 1).toLowerCase();
  if (asPicture && ending === "svg") return "image/svg+xml";
  return kPictures[ending] ?? "text/plain; charset=utf-8";
}
