/** The tree of changes, each with a checkbox. */

import { type ComponentChildren, Fragment } from "preact";
import { memo } from "preact/compat";
import { useEffect, useMemo, useState } from "preact/hooks";

import { type Choices, canBeChosen, stateOf } from "../choices.js";
import type { ReviewChange } from "../model.js";
import type { Row } from "../tree.js";
import { counted, detailWords, letterOf, shown } from "../words.js";

type RowProperties = {
  row: Row;
  /** How many changes are below, for a directory. */
  count: number;
  state: "none" | "some" | "all";
  isOpen: boolean;
  isCurrent: boolean;
  isAble: boolean;
  /** Open comments on it; for a closed directory, on all below. */
  comments: number;
  /** Whether its content is below it; undefined where it is elsewhere. */
  isOpened: boolean | undefined;
  /** What stands for the change where several columns have one: it is no single change then. */
  marks: ComponentChildren;
  verb?: string;
  onToggle(row: Row): void;
  onFold(path: string): void;
  onShow(path: string): void;
};

const ChangeRow = memo((properties: RowProperties) => {
  const { row, count, state, isOpen, isCurrent, isAble, comments, isOpened, marks } = properties;
  const { onToggle, onFold, onShow, verb = "commit" } = properties;
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
        aria-label={`${verb} ${shown(row.path)}${below ? `, ${counted(count, "change")}` : ""}`}
      />
      {below && (
        <button
          type="button"
          class="fold"
          aria-expanded={isOpen}
          aria-label={`${shown(row.path)}, ${counted(count, "change")}`}
          onClick={() => onFold(row.path)}
        >
          {isOpen ? "▾" : "▸"}
        </button>
      )}
      {change && marks === undefined && (
        <abbr class={`kind ${change.kind}`} title={change.kind}>
          {letterOf(change)}
        </abbr>
      )}
      {change && !below ? (
        <button
          type="button"
          class="name"
          aria-current={isCurrent ? "true" : undefined}
          aria-expanded={isOpened}
          onClick={() => onShow(row.path)}
        >
          <bdi>{name}</bdi>
        </button>
      ) : (
        <bdi class="name">{name}/</bdi>
      )}
      {below && <small class="count">{count.toLocaleString("en")}</small>}
      {change && marks === undefined && <small>{detailWords(change).join(", ")}</small>}
      {marks}
      {comments > 0 && (
        <small class="tag comments">
          {comments.toLocaleString("en")}
          <span class="sr"> open</span> {comments === 1 ? "comment" : "comments"}
        </small>
      )}
      {tags.map((tag) => (
        <strong key={tag} class={`tag ${tag}`}>
          {tag}
        </strong>
      ))}
    </li>
  );
});

type Properties = {
  rows: readonly Row[];
  /** How many changes the rows are of, with those in closed directories. */
  changes: number;
  choices: Choices;
  closed: ReadonlySet<string>;
  current: string | undefined;
  byPath: ReadonlyMap<string, ReviewChange>;
  /** The paths that count as changes. */
  notable: ReadonlySet<string>;
  /** Numbers of open comments, by path. */
  comments: ReadonlyMap<string, number>;
  /** Paths whose content is shown below their row, and what makes it. Default: the content is elsewhere. */
  opened?: ReadonlySet<string>;
  contentOf?(change: ReviewChange): ComponentChildren;
  /** What stands for a change; the same value for the same change. Default: its kind and sizes. */
  marksOf?(path: string): ComponentChildren;
  /** What a checkbox does. Default "commit". */
  verb?: string;
  onToggle(row: Row): void;
  onFold(path: string): void;
  onShow(path: string): void;
};

/** Rows per chunk. The browser lays out only chunks in view. */
const kRowsOfChunk = 100;
/** Chunks added per frame, so that the first ones are shown before all are made. */
const kChunksAtOnce = 2;
const kRowRem = 1.95;

type ChunkProperties = Omit<Properties, "changes"> & { label: string };

const Chunk = memo((properties: ChunkProperties) => {
  const { rows, label, choices, closed, current, byPath, notable, comments, ...rest } = properties;
  const { opened, contentOf, marksOf, ...on } = rest;
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
        const isOpened = opened?.has(row.path);
        const isOpen = !closed.has(row.path);
        const commented =
          comments.size === 0 || (row.below && isOpen) ? [] : (row.below ?? [row.path]);
        return (
          <Fragment key={row.path}>
            <ChangeRow
              row={row}
              count={row.below?.filter((path) => notable.has(path)).length ?? 1}
              state={stateOf(choices, able)}
              isOpen={isOpen}
              comments={commented.reduce((sum, path) => sum + (comments.get(path) ?? 0), 0)}
              isCurrent={row.path === current && row.below === undefined}
              isAble={able.length > 0}
              isOpened={isOpened}
              marks={marksOf?.(row.path)}
              {...on}
            />
            {isOpened && row.change && !row.below && (
              <li class="opened">{contentOf?.(row.change)}</li>
            )}
          </Fragment>
        );
      })}
    </ul>
  );
});

/** Chunks say which rows they have, since a reader of the screen lists them. */
function labelOf(at: number, count: number): string {
  const first = at * kRowsOfChunk + 1;
  return `rows ${first} to ${Math.min(first + kRowsOfChunk - 1, count)}`;
}

export function ChangeList({ rows, changes, current, ...rest }: Properties) {
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
    <section class="tree" aria-label={counted(changes, "change")} aria-busy={!isAll}>
      {chunks.slice(0, shown).map((chunk, at) => (
        <Chunk
          key={at}
          rows={chunk}
          label={labelOf(at, rows.length)}
          current={chunk.some(({ path }) => path === current) ? current : undefined}
          {...rest}
        />
      ))}
    </section>
  );
}

/** The row above the list: shows fewer files by their names, and chooses all that are shown, or none. */
export function FilterRow({
  filter,
  onFilter,
  onChooseAll,
}: {
  filter: string;
  onFilter: (filter: string) => void;
  onChooseAll: () => void;
}) {
  return (
    <div class="all">
      <input
        type="search"
        aria-label="filter by name"
        placeholder="Filter by name…"
        value={filter}
        onInput={({ currentTarget }) => onFilter(currentTarget.value)}
      />
      <button type="button" onClick={onChooseAll}>
        Choose all, or none
      </button>
    </div>
  );
}
