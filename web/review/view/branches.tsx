/** The branches side by side: what each has changed, and which one, or which files of it, the transaction takes. */

import type { ComponentChildren } from "preact";
import { useCallback, useMemo, useRef, useState } from "preact/hooks";

import { notableChanges } from "../../../lib/notable-changes.js";
import * as api from "../api.js";
import { type Choices, kept, toggled } from "../choices.js";
import { type Facts, Refusal, type ReviewChange } from "../model.js";
import { filtered, type Row, rowsOf } from "../tree.js";
import { type Column, type SeenBranches, unionOf } from "../use-branches.js";
import { useKeys } from "../use-keys.js";
import { useMedia } from "../use-media.js";
import { counted, letterOf, shown } from "../words.js";
import { Names } from "./app.js";
import { BranchColumns } from "./branch-columns.js";
import { ChangeList, FilterRow } from "./change-list.js";
import { Dialog } from "./dialogs.js";
import { measured } from "./header.js";
import { Slot, Stack, scrollToChange } from "./stack.js";

type Properties = {
  facts: Facts;
  columns: readonly Column[];
  seen: SeenBranches;
  load(): Promise<void>;
  /** Shows the review of the transaction. */
  onReview(): void;
};

type Asked = { column: Column; paths?: readonly string[]; isConflict?: true };

/** Returns the paths that name these changes of a branch: of a renamed file, both. */
const pathsOf = (changes: readonly ReviewChange[]) =>
  changes.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]));

const kNoComments: ReadonlyMap<string, number> = new Map();

function Lines({ lines }: Pick<Column, "lines">) {
  if (lines === undefined) return <span class="lines">…</span>;
  if (lines === null) return <span class="lines">lines not counted</span>;
  return (
    <span class="lines">
      <span class="good">+{lines.added.toLocaleString("en")}</span>{" "}
      <span class="bad">−{lines.removed.toLocaleString("en")}</span>
      <span class="sr"> lines</span>
    </span>
  );
}

type CardProperties = {
  column: Column;
  /** How many of the chosen paths it has changed. */
  chosen: number;
  isBusy: boolean;
  onTake(isChosen: boolean): void;
};

/** One branch: its name, what it changes, and its buttons. */
function Card({ column, chosen, isBusy, onTake }: CardProperties) {
  const { name, id, tests, state, changes, lines, isLoading } = column;
  const count = useMemo(() => notableChanges(changes).length, [changes]);
  const label = shown(name);
  return (
    <section class="card" data-branch={id} aria-label={`branch ${label}`}>
      <h2>
        <bdi>{label}</bdi>
      </h2>
      {state === "open" ? (
        <p>
          {isLoading ? "loading…" : counted(count, "change")} <Lines lines={lines} />
        </p>
      ) : (
        <p class="bad">it was {state}</p>
      )}
      <p class="facts">
        {name !== id && <code>{id}</code>}
        {tests && (
          <strong class={`tag ${tests === "passed" ? "good" : "bad"}`}>
            tests {tests === "passed" ? "pass" : "fail"}
          </strong>
        )}
      </p>
      <p class="buttons">
        <button
          type="button"
          disabled={isBusy || chosen === 0 || state !== "open"}
          onClick={() => onTake(true)}
        >
          Take {chosen === 0 ? "chosen" : `${chosen.toLocaleString("en")} chosen`}
          <span class="sr"> of {label}</span>
        </button>
        <button
          type="button"
          disabled={isBusy || isLoading || state !== "open"}
          onClick={() => onTake(false)}
        >
          Take all<span class="sr"> of {label}</span>
        </button>
      </p>
    </section>
  );
}

/** Which branch changes a path how, one letter for each. */
function marksOf(path: string, columns: readonly Column[]) {
  const changes = columns.map(({ byPath }) => byPath.get(path));
  if (changes.every((change) => change === undefined)) return null;
  return (
    <span class="marks">
      {changes.map((change, at) => (
        <abbr
          key={columns[at]?.id}
          class={`kind ${change?.kind ?? ""}`}
          title={`${change?.kind ?? "not changed"} in ${shown(columns[at]?.name ?? "")}`}
        >
          {change ? letterOf(change) : "·"}
        </abbr>
      ))}
    </span>
  );
}

export function BranchesView({ facts, columns, seen, load, onReview }: Properties) {
  const [choices, setChoices] = useState<Choices>(new Map());
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string>();
  const [filter, setFilter] = useState("");
  const [asked, setAsked] = useState<Asked>();
  const [tab, setTab] = useState(0);
  const [said, setSaid] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  const isNarrow = useMedia("(max-width: 60rem)");

  // Counted lines make other columns, and no other changes.
  const state = columns.map(({ id, revision }) => `${id} ${revision}`).join(" ");
  const union = useMemo(() => unionOf(columns), [state]);
  const byPath = useMemo(() => new Map(union.map((change) => [change.path, change])), [union]);
  const chosen = useMemo(() => kept(choices, union).choices, [choices, union]);
  const notable = useMemo(() => notableChanges(union), [union]);
  const notablePaths = useMemo(() => new Set(notable.map(({ path }) => path)), [notable]);
  const listed = useMemo(() => filtered(union, filter), [union, filter]);
  const rows = useMemo(() => rowsOf(listed, closed), [listed, closed]);
  const stacked = useMemo(
    () =>
      rowsOf(listed, new Set()).flatMap(({ change }) =>
        change && notablePaths.has(change.path) ? [change] : [],
      ),
    [listed, notablePaths],
  );
  const marks = useMemo(() => {
    const made = new Map<string, ReturnType<typeof marksOf>>();
    return (path: string) => {
      const known = made.get(path);
      if (known !== undefined) return known;
      const mark = marksOf(path, columns);
      made.set(path, mark);
      return mark;
    };
  }, [state]);

  const show = (path: string) => {
    setCurrent(path);
    if (isNarrow) setOpened((now) => new Set(now).add(path));
    else scrollToChange(path);
    requestAnimationFrame(() =>
      document.querySelector(".row.current")?.scrollIntoView({ block: "nearest" }),
    );
  };
  const step = (by: number) => {
    const index = stacked.findIndex(({ path }) => path === current);
    const next = stacked[index < 0 ? 0 : Math.min(Math.max(index + by, 0), stacked.length - 1)];
    if (next !== undefined) show(next.path);
  };
  const toggle = (paths: readonly string[]) =>
    setChoices(
      toggled(
        chosen,
        paths.flatMap((path) => byPath.get(path) ?? []),
      ),
    );

  const doing = async (what: () => Promise<string>, onRefused: (refusal: Refusal) => boolean) => {
    setBusy(true);
    setRefusal(undefined);
    setSaid("");
    try {
      setSaid(await what());
    } catch (error) {
      const { message } = error as Error;
      const found = error instanceof Refusal ? error : new Refusal("ERR_REVIEW", message, []);
      if (!onRefused(found)) setRefusal(found);
    } finally {
      await load();
      setBusy(false);
    }
  };
  const take = ({ column, paths, isConflict }: Asked) =>
    doing(
      async () => {
        const { id, revision, name } = column;
        const { taken } = await api.take({
          ...{ branch: id, revision },
          ...(paths && { paths }),
          ...(isConflict && { onConflict: "theirs" as const }),
        });
        setChoices(new Map());
        const what = paths === undefined ? "all" : counted(taken.length, "path");
        return `Took ${what} of ${shown(name)}. Review and commit writes it.`;
      },
      ({ code, paths: between }) => {
        if (code !== "ERR_TRANSACTION_CONFLICT" || paths === undefined) return false;
        setRefusal(
          new Refusal(code, "Nothing was taken: what was taken before changes these too.", between),
        );
        setAsked({ column, paths, isConflict: true });
        return true;
      },
    );

  const actions = useRef({ toggle, show, opened, take: setAsked });
  actions.current = { toggle, show, opened, take: setAsked };
  const on = useMemo(
    () => ({
      onToggle: (row: Row) => actions.current.toggle(row.below ?? [row.path]),
      onFold: (path: string) =>
        setClosed((now) => {
          const next = new Set(now);
          if (!next.delete(path)) next.add(path);
          return next;
        }),
      onShow: (path: string) => {
        if (!actions.current.opened.has(path)) return actions.current.show(path);
        setOpened((now) => {
          const next = new Set(now);
          next.delete(path);
          return next;
        });
      },
      onTake: (column: Column, change: ReviewChange) =>
        actions.current.take({ column, paths: pathsOf([change]) }),
    }),
    [],
  );
  const visible = useMemo(
    () => (isNarrow ? columns.slice(tab, tab + 1) : columns),
    [state, isNarrow, tab],
  );
  const placeOf = useCallback(
    (change: ReviewChange) => (
      <Slot key={change.path} change={change}>
        {() => (
          <BranchColumns
            path={change.path}
            columns={visible}
            isCurrent={change.path === current}
            isBusy={isBusy}
            onTake={on.onTake}
          />
        )}
      </Slot>
    ),
    [visible, current, isBusy],
  );

  useKeys({
    j: () => step(1),
    ArrowDown: () => step(1),
    k: () => step(-1),
    ArrowUp: () => step(-1),
    " ": () => current !== undefined && toggle([current]),
    x: () => current !== undefined && toggle([current]),
    a: () => toggle(listed.map(({ path }) => path)),
    c: onReview,
  });

  const own = useMemo(() => notableChanges(seen.own).length, [seen.own]);
  const isOpen = facts.state === "open";
  const card = (column: Column) => {
    const picked = [...chosen.keys()].flatMap((path) => column.byPath.get(path) ?? []);
    const onTake = (isChosen: boolean) =>
      setAsked({ column, ...(isChosen && { paths: pathsOf(picked) }) });
    const count = notableChanges(picked).length;
    return (
      <Card
        key={column.id}
        column={column}
        chosen={count}
        isBusy={isBusy || !isOpen}
        onTake={onTake}
      />
    );
  };
  return (
    <>
      <header ref={measured}>
        <div class="title">
          <h1>
            {counted(columns.length, "branch", "branches")} of{" "}
            <bdi>{shown(facts.workspace || "the workspace")}</bdi>
          </h1>
          <p>
            transaction <code>{facts.id}</code> takes what you choose; it has{" "}
            {own === 0 ? "no changes" : counted(own, "change")}
            {seen.isLost && <strong class="bad"> · the page's server can't be reached</strong>}
          </p>
        </div>
        <div class="actions" role="toolbar" aria-label="actions">
          <button
            type="button"
            disabled={!isOpen || isBusy || !seen.canTakeBack}
            onClick={() =>
              void doing(
                async () => {
                  await api.takeBack();
                  return "Taken back: the transaction is what it was before.";
                },
                () => false,
              )
            }
          >
            Take back
          </button>
          <button type="button" class="primary" disabled={isBusy} onClick={onReview}>
            Review and commit {own === 0 ? "…" : `${counted(own, "change")}…`}
          </button>
        </div>
      </header>
      <p class="said" role="status" aria-live="polite">
        {isOpen ? said : `The transaction was ${facts.state}.`}
      </p>
      {refusal && (
        <section class="warning" role="alert">
          <p>{shown(refusal.message)}</p>
          <Names paths={refusal.paths} />
        </section>
      )}
      {isNarrow ? (
        <Tabs columns={columns} tab={tab} onTab={setTab}>
          {columns.slice(tab, tab + 1).map(card)}
        </Tabs>
      ) : (
        <section class="cards" aria-label="branches">
          {columns.map(card)}
        </section>
      )}
      <main class={isNarrow ? "" : "both"}>
        <nav aria-label="changed files">
          {notable.length === 0 && <p>No branch has changed anything.</p>}
          {notable.length > 0 && (
            <FilterRow
              filter={filter}
              onFilter={setFilter}
              onChooseAll={() => toggle(listed.map(({ path }) => path))}
            />
          )}
          <ChangeList
            rows={rows}
            changes={stacked.length}
            choices={chosen}
            closed={closed}
            current={current}
            byPath={byPath}
            notable={notablePaths}
            comments={kNoComments}
            marksOf={marks}
            verb="choose"
            {...(isNarrow && { opened, contentOf: placeOf })}
            onToggle={on.onToggle}
            onFold={on.onFold}
            onShow={on.onShow}
          />
        </nav>
        {!isNarrow && <Stack changes={stacked} placeOf={placeOf} />}
      </main>
      {asked && (
        <TakeDialog
          asked={asked}
          own={own}
          onDo={() => void take(asked)}
          onClose={() => setAsked((now) => (now === asked ? undefined : now))}
        />
      )}
    </>
  );
}

type TabsProperties = {
  columns: readonly Column[];
  tab: number;
  onTab(tab: number): void;
  children: ComponentChildren;
};

/** One branch at a time, for a narrow screen. Arrows go from tab to tab. */
function Tabs({ columns, tab, onTab, children }: TabsProperties) {
  const list = useRef<HTMLDivElement>(null);
  const go = (to: number) => {
    const next = (to + columns.length) % columns.length;
    onTab(next);
    list.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    <>
      <div
        class="tabs"
        role="tablist"
        aria-label="branches"
        ref={list}
        onKeyDown={(event) => {
          if (event.key === "ArrowRight") go(tab + 1);
          else if (event.key === "ArrowLeft") go(tab - 1);
        }}
      >
        {columns.map(({ id, name, tests }, at) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${id}`}
            aria-selected={at === tab}
            aria-controls="branch"
            tabIndex={at === tab ? 0 : -1}
            onClick={() => onTab(at)}
          >
            <bdi>{shown(name)}</bdi>
            {tests && (
              <span class={tests === "passed" ? "good" : "bad"}>
                {tests === "passed" ? " ✓" : " ✗"}
                <span class="sr"> tests {tests === "passed" ? "pass" : "fail"}</span>
              </span>
            )}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="branch" aria-labelledby={`tab-${columns[tab]?.id}`}>
        {children}
      </div>
    </>
  );
}

type TakeProperties = {
  asked: Asked;
  /** How many changes the transaction has. */
  own: number;
  onDo(): void;
  onClose(): void;
};

function TakeDialog({ asked, own, onDo, onClose }: TakeProperties) {
  const { column, paths, isConflict } = asked;
  const name = shown(column.name);
  if (isConflict) {
    return (
      <Dialog title="Take it all the same?" action={`Take ${name}'s`} onDo={onDo} onClose={onClose}>
        <p>
          What was taken before has changed the same. Where both have, that of <bdi>{name}</bdi> is
          taken.
        </p>
      </Dialog>
    );
  }
  if (paths !== undefined) {
    return (
      <Dialog
        title={`Take ${counted(paths.length, "path")} of ${name}?`}
        action="Take"
        onDo={onDo}
        onClose={onClose}
      >
        <p>A merge into the transaction: nothing is written to the host before a commit.</p>
        <Names paths={paths} />
      </Dialog>
    );
  }
  return (
    <Dialog title={`Take all of ${name}?`} action="Take all" onDo={onDo} onClose={onClose}>
      <p>
        The transaction becomes what <bdi>{name}</bdi> is
        {own > 0 && `, in the place of its own ${counted(own, "change")}`}. It can be taken back.
        Nothing is written to the host before a commit.
      </p>
    </Dialog>
  );
}
