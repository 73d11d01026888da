/** A picture before and after. */

import { fileAddress } from "../api.js";
import type { ReviewChange } from "../model.js";
import { shown, sizeWords } from "../words.js";

const kPicture = /\.(avif|bmp|gif|ico|jpe?g|png|svg|webp)$/i;

export const isPicture = ({ path, type }: ReviewChange) => type === "file" && kPicture.test(path);
/** True for SVG, which is also shown as text. */
export const isDrawing = ({ path }: ReviewChange) => /\.svg$/i.test(path);

export function PictureDiff({ change }: { change: ReviewChange }) {
  const { path, previousMode, mode, size, previousSize } = change;
  const sides = [
    ["before", previousMode !== 0, previousSize],
    ["after", mode !== 0, size],
  ] as const;
  return (
    <div class="pictures">
      {sides.map(([side, isThere, bytes]) => (
        <figure key={side}>
          <figcaption>
            {side}: {isThere ? sizeWords(bytes) : "nothing"}
          </figcaption>
          {isThere && <img src={fileAddress(change, side, true)} alt={`${shown(path)}, ${side}`} />}
        </figure>
      ))}
    </div>
  );
}
