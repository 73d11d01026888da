/** The tree of changes, each with a checkbox. */

import { memo } from "preact/compat";
import { useEffect, useMemo, useState } from "preact/hooks";

import { type Choices, canBeChosen, stateOf } from "../choices.js";
import type { ReviewChange } from "../model.js";
import type { Row } from "../tree.js";
import { detailWords, letterOf, shown } from "../words.js";

type RowProperties = {
  row: Row;
  state: "none" | "some" | "all";
  isOpen: boolean;
  isCurrent: boolean;
  isAble: boolean;
  onToggle(row: Row): void;
  onFold(path: string): void;
  onShow(path: string): void;
};

const ChangeRow = memo(
  ({ row, state, isOpen, isCurrent, isAble, onToggle, onFold, onShow }: RowProperties) => {
    const { change, below, depth } = row;
    const name = shown(row.name);
    const tags = [
      change?.conflict && "conflict",
      change?.protected && "protected",
      change?.isUnnamed && "no UTF-8",
    ].filter(Boolean);
    return (
      <li class={`row${isCurrent ? " current" : ""}`} data-path={row.path}>
        <span class="indent" data-depth={Math.min(depth, 12)} />
        <input
          type="checkbox"
          checked={state === "all"}
          disabled={!isAble}
          ref={(box) => {
            if (box) box.indeterminate = state === "some";
          }}
          onChange={() => onToggle(row)}
          aria-label={`commit ${shown(row.path)}${below ? ` and the ${below.length} below` : ""}`}
        />
        {below && (
          <button
            type="button"
            class="fold"
            aria-expanded={isOpen}
            aria-label={`${shown(row.path)}, ${below.length} changes`}
            onClick={() => onFold(row.path)}
          >
            {isOpen ? "▾" : "▸"}
          </button>
        )}
        {change && (
          <abbr class={`kind ${change.kind}`} title={change.kind}>
            {letterOf(change)}
          </abbr>
        )}
        {change && !below ? (
          <button
            type="button"
            class="name"
            aria-current={isCurrent ? "true" : undefined}
            onClick={() => onShow(row.path)}
          >
            <bdi>{name}</bdi>
          </button>
        ) : (
          <bdi class="name">{name}/</bdi>
        )}
        {change && <small>{detailWords(change).join(", ")}</small>}
        {tags.map((tag) => (
          <strong key={tag} class={`tag ${tag}`}>
            {tag}
          </strong>
        ))}
      </li>
    );
  },
);

type Properties = {
  rows: readonly Row[];
  choices: Choices;
  closed: ReadonlySet<string>;
  current: string | undefined;
  byPath: ReadonlyMap<string, ReviewChange>;
  onToggle(row: Row): void;
  onFold(path: string): void;
  onShow(path: string): void;
};

/** Rows per chunk. The browser lays out only chunks in view. */
const kRowsOfChunk = 100;
/** Chunks added per frame, so that the first ones are shown before all are made. */
const kChunksAtOnce = 2;
const kRowRem = 1.95;

type ChunkProperties = Properties & { label: string };

function Chunk({ rows, label, choices, closed, current, byPath, ...on }: ChunkProperties) {
  return (
    <ul
      class="chunk"
      aria-label={label}
      style={{ containIntrinsicSize: `auto none auto ${rows.length * kRowRem}rem` }}
    >
      {rows.map((row) => {
        const able = (row.below ?? [row.path]).filter((path) => {
          const change = byPath.get(path);
          return change !== undefined && canBeChosen(change);
        });
        return (
          <ChangeRow
            key={row.path}
            row={row}
            state={stateOf(choices, able)}
            isOpen={!closed.has(row.path)}
            isCurrent={row.path === current && row.below === undefined}
            isAble={able.length > 0}
            {...on}
          />
        );
      })}
    </ul>
  );
}

function labelOf(at: number, count: number): string {
  const first = at * kRowsOfChunk + 1;
  return `${first} to ${Math.min(first + kRowsOfChunk - 1, count)} of ${count}`;
}

export function ChangeList({ rows, ...rest }: Properties) {
  const [shown, setShown] = useState(kChunksAtOnce);
  const chunks = useMemo(() => {
    const count = Math.ceil(rows.length / kRowsOfChunk);
    return Array.from({ length: count }, (_, at) =>
      rows.slice(at * kRowsOfChunk, (at + 1) * kRowsOfChunk),
    );
  }, [rows]);
  const isAll = shown >= chunks.length;
  useEffect(() => {
    if (isAll) return;
    const frame = requestAnimationFrame(() => setShown((now) => now + kChunksAtOnce));
    return () => cancelAnimationFrame(frame);
  }, [shown, isAll]);
  return (
    <section class="tree" aria-label="changes" aria-busy={!isAll}>
      {chunks.slice(0, shown).map((chunk, at) => (
        <Chunk key={at} rows={chunk} label={labelOf(at, rows.length)} {...rest} />
      ))}
    </section>
  );
}
