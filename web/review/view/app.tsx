/** The review: the tree beside all changes; on a narrow screen, each change below its name in the tree. */

import {
  type Dispatch,
  type StateUpdater,
  useCallback,
  useMemo,
  useRef,
  useState,
} from "preact/hooks";

import { notableChanges } from "../../../lib/notable-changes.js";
import * as api from "../api.js";
import { type Choices, kept, toggled, wishOf, withHunk } from "../choices.js";
import { useDrafts } from "../drafts.js";
import { type Hunk, Refusal, type ReviewChange, type ReviewComment } from "../model.js";
import { filtered, type Row, rowsOf } from "../tree.js";
import { useKeys } from "../use-keys.js";
import { useMedia } from "../use-media.js";
import { useReview } from "../use-review.js";
import { useViewed } from "../use-viewed.js";
import { counted, shown } from "../words.js";
import { ChangeList, FilterRow } from "./change-list.js";
import { type ChangeActions, ChangeView } from "./change-view.js";
import { Thread } from "./comments.js";
import { Dialog, KeysDialog } from "./dialogs.js";
import { Header } from "./header.js";
import { RunView } from "./run-view.js";
import { Slot, Stack, scrollToChange } from "./stack.js";
import type { DiffHandle } from "./text-diff.js";

type Asked =
  | { kind: "commit"; protected: readonly string[] }
  | { kind: "discard" | "undo" | "keys" };

const kMostNames = 12;

export function Names({ paths, label }: { paths: readonly string[]; label?: string }) {
  return (
    <ul class="names" aria-label={label}>
      {paths.slice(0, kMostNames).map((path) => (
        <li key={path}>
          <bdi>{shown(path)}</bdi>
        </li>
      ))}
      {paths.length > kMostNames && <li>and {paths.length - kMostNames} more</li>}
    </ul>
  );
}

const kRefused: Readonly<Record<string, string>> = {
  ERR_TRANSACTION_CONFLICT: "Nothing was committed: the host has changed these too.",
  ERR_TRANSACTION_UNEXPECTED:
    "Nothing was committed: these were changed after you had seen them. Look again.",
};

type Actions = ChangeActions & {
  onToggle(row: Row): void;
  onFold(path: string): void;
  onShow(path: string): void;
};

/** Returns functions that stay the same and call the latest actions, so that rows are not made anew for them. */
function useSame(actions: Actions): Actions {
  const now = useRef(actions);
  now.current = actions;
  return useMemo(
    () => ({
      onToggle: (row) => now.current.onToggle(row),
      onFold: (path) => now.current.onFold(path),
      onShow: (path) => now.current.onShow(path),
      onChoose: (path) => now.current.onChoose(path),
      onViewed: (change) => now.current.onViewed(change),
      onHunks: (path, handle) => now.current.onHunks(path, handle),
      onHunk: (path, at) => now.current.onHunk(path, at),
      onToggleHunk: (change, hunks, at) => now.current.onToggleHunk(change, hunks, at),
    }),
    [],
  );
}

/** Without changes yet; one value, so that nothing is made anew for it. */
const kNone: readonly ReviewChange[] = [];
const kNoComments: readonly ReviewComment[] = [];

/** Returns comments by their path. */
function byPathOf(
  comments: readonly ReviewComment[],
): ReadonlyMap<string, readonly ReviewComment[]> {
  const byPath = new Map<string, ReviewComment[]>();
  for (const comment of comments) {
    const all = byPath.get(comment.path) ?? [];
    all.push(comment);
    byPath.set(comment.path, all);
  }
  return byPath;
}

type AppProperties = {
  /** What is chosen for a commit; kept while the branches are looked at. */
  choices: Choices;
  setChoices: Dispatch<StateUpdater<Choices>>;
  /** Shows the branches; undefined: there are none. */
  onBranches: (() => void) | undefined;
};

/** The review of one transaction. */
export function App({ choices, setChoices, onBranches }: AppProperties) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string>();
  const [filter, setFilter] = useState("");
  const isNarrow = useMedia("(max-width: 60rem)");
  const [isUnified, setUnified] = useState(() => matchMedia("(max-width: 60rem)").matches);
  const [asked, setAsked] = useState<Asked>();
  const [said, setSaid] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  const [hunk, setHunk] = useState(0);
  const diffs = useRef(new Map<string, DiffHandle>());

  const { seen, load } = useReview((changes) => {
    const { choices: left, dropped } = kept(choices, changes);
    if (dropped.length === 0) return;
    setChoices(left);
    if (!isBusy)
      setSaid(`${counted(dropped.length, "chosen file")} changed since, and not chosen any more`);
  });
  const { facts, changes = kNone, runs, comments } = seen;
  const viewed = useViewed(facts?.id);
  const byPath = useMemo(() => new Map(changes.map((change) => [change.path, change])), [changes]);
  const commentsOf = useMemo(() => byPathOf(comments), [comments]);
  const openComments = useMemo(() => {
    const open = comments.filter(({ isResolved }) => !isResolved);
    return new Map([...byPathOf(open)].map(([path, all]) => [path, all.length]));
  }, [comments]);
  const lone = useMemo(() => comments.filter(({ path }) => !byPath.has(path)), [comments, byPath]);
  const loneDrafts = useDrafts((path) => seen.changes !== undefined && !byPath.has(path));
  const notable = useMemo(() => notableChanges(changes), [changes]);
  const notablePaths = useMemo(() => new Set(notable.map(({ path }) => path)), [notable]);
  const listed = useMemo(() => filtered(changes, filter), [changes, filter]);
  const rows = useMemo(() => rowsOf(listed, closed), [listed, closed]);
  const stacked = useMemo(
    () =>
      rowsOf(listed, new Set()).flatMap(({ change }) =>
        change && notablePaths.has(change.path) ? [change] : [],
      ),
    [listed, notablePaths],
  );
  const at = current === undefined ? undefined : byPath.get(current);
  const countOf = (paths: Iterable<string>) => [...paths].filter((path) => notablePaths.has(path));

  const show = (path: string) => {
    setCurrent(path);
    if (path !== current) setHunk(0);
    if (isNarrow) setOpened((now) => new Set(now).add(path));
    else scrollToChange(path);
    requestAnimationFrame(() =>
      document.querySelector(".row.current")?.scrollIntoView({ block: "nearest" }),
    );
  };
  /** Shows a change that was pressed in the tree; on a narrow screen, a second press closes it. */
  const press = (path: string) => {
    if (!(isNarrow && opened.has(path))) return show(path);
    setOpened((now) => {
      const next = new Set(now);
      next.delete(path);
      return next;
    });
  };
  const step = (by: number) => {
    const index = stacked.findIndex(({ path }) => path === current);
    const next = stacked[index < 0 ? 0 : Math.min(Math.max(index + by, 0), stacked.length - 1)];
    if (next !== undefined) show(next.path);
  };
  const toggle = (paths: readonly string[]) =>
    setChoices((now) =>
      toggled(
        now,
        paths.flatMap((path) => byPath.get(path) ?? []),
      ),
    );
  const toggleHunk = (change: ReviewChange, hunks: readonly Hunk[], index: number) =>
    setChoices((now) => withHunk(now, change, hunks, index));
  const showHunk = (path: string | undefined, index: number) => {
    const handle = path === undefined ? undefined : diffs.current.get(path);
    const wanted = Math.min(Math.max(index, 0), (handle?.hunks.length ?? 1) - 1);
    setCurrent(path);
    setHunk(wanted);
    handle?.show(wanted);
  };

  const actions: Actions = {
    onToggle: (row) => toggle(row.below ?? [row.path]),
    onFold: (path) =>
      setClosed((now) => {
        const next = new Set(now);
        if (!next.delete(path)) next.add(path);
        return next;
      }),
    onShow: press,
    onChoose: (path) => toggle([path]),
    onViewed: viewed.toggle,
    onHunks: (path, handle) => {
      if (handle) diffs.current.set(path, handle);
      else diffs.current.delete(path);
    },
    onHunk: showHunk,
    onToggleHunk: toggleHunk,
  };
  const on = useSame(actions);
  const placeOf = useCallback(
    (change: ReviewChange) => (
      <Slot key={change.path} change={change}>
        {() => (
          <ChangeView
            change={change}
            runs={runs}
            comments={commentsOf.get(change.path) ?? kNoComments}
            choices={choices}
            isUnified={isUnified}
            isCurrent={change.path === current}
            isViewed={viewed.has(change)}
            hunk={change.path === current ? hunk : -1}
            on={on}
          />
        )}
      </Slot>
    ),
    [runs, commentsOf, choices, isUnified, current, hunk, viewed.versions],
  );

  const doing = async (what: () => Promise<string>) => {
    setBusy(true);
    setRefusal(undefined);
    try {
      const words = await what();
      await load();
      setSaid(words);
    } catch (error) {
      const { message } = error as Error;
      setRefusal(error instanceof Refusal ? error : new Refusal("ERR_REVIEW", message, []));
      setSaid("");
      await load();
    } finally {
      setBusy(false);
    }
  };
  const commit = (allowProtected: readonly string[]) =>
    doing(async () => {
      const { committed, left } = await api.commit(wishOf(choices), allowProtected);
      setChoices(new Map());
      const waits = left === 0 ? "" : `; ${counted(left, "change")} left`;
      return `Committed ${counted(countOf(committed).length, "change")}${waits}.`;
    });
  const askCommit = () => {
    // Directories that have to be made for a chosen file are committed with it.
    const isChosen = (path: string) =>
      choices.has(path) || [...choices.keys()].some((chosen) => chosen.startsWith(`${path}/`));
    const guarded = changes.flatMap((change) =>
      change.protected && isChosen(change.path) ? [change.path] : [],
    );
    if (choices.size > 0) setAsked({ kind: "commit", protected: guarded });
  };

  useKeys({
    j: () => step(1),
    ArrowDown: () => step(1),
    k: () => step(-1),
    ArrowUp: () => step(-1),
    " ": () => current !== undefined && toggle([current]),
    x: () => current !== undefined && toggle([current]),
    a: () => toggle(listed.map(({ path }) => path)),
    v: () => at && viewed.toggle(at),
    n: () => showHunk(current, hunk + 1),
    p: () => showHunk(current, hunk - 1),
    t: () => {
      const handle = at && diffs.current.get(at.path);
      if (handle) toggleHunk(at, handle.hunks, hunk);
    },
    m: () => at && diffs.current.get(at.path)?.focus(hunk),
    u: () => setUnified((now) => !now),
    c: askCommit,
    "?": () => setAsked({ kind: "keys" }),
  });

  if (facts === undefined) {
    return (
      <main>
        <h1>Review</h1>
        <p role="status">{seen.failure ?? "Loading the changes…"}</p>
      </main>
    );
  }
  const chosen = countOf(choices.keys());
  const isDeleted = (path: string) => byPath.get(path)?.kind === "deleted";
  const deleted = chosen.filter(isDeleted);
  const written = chosen.filter((path) => !isDeleted(path));
  const partly = [...choices.values()].filter(({ hunks }) => hunks).length;
  const isOver = facts.state !== "open";
  return (
    <>
      <Header
        facts={facts}
        changes={notable.length}
        viewed={notable.filter(viewed.has).length}
        comments={[...openComments.values()].reduce((sum, count) => sum + count, 0)}
        chosen={chosen.length}
        isUnified={isUnified}
        isBusy={isBusy}
        isLost={seen.isLost}
        onBranches={onBranches}
        onCommit={askCommit}
        onUndo={() => setAsked({ kind: "undo" })}
        onDiscard={() => setAsked({ kind: "discard" })}
        onUnified={() => setUnified(!isUnified)}
        onKeys={() => setAsked({ kind: "keys" })}
      />
      <p class="said" role="status" aria-live="polite">
        {isOver ? `The transaction was ${facts.state}.` : said}
      </p>
      {refusal && (
        <section class="warning" role="alert">
          <p>{kRefused[refusal.code] ?? shown(refusal.message)}</p>
          <Names paths={refusal.paths} />
        </section>
      )}
      {lone.length + loneDrafts.length > 0 && (
        <section class="lone" aria-label="comments on files that are not changed any more">
          <h2>Comments on files that are not changed any more</h2>
          {[
            ...new Set([...lone, ...loneDrafts.map(({ place }) => place)].map(({ path }) => path)),
          ].map((path) => (
            <div key={path}>
              <h3>
                <bdi>{shown(path)}</bdi>
              </h3>
              <Thread
                comments={lone.filter((comment) => comment.path === path)}
                drafts={loneDrafts.filter(({ place }) => place.path === path)}
                isAway
              />
            </div>
          ))}
        </section>
      )}
      <main class={isNarrow ? "" : "both"}>
        <nav aria-label="changed files">
          {notable.length === 0 && !isOver && <p>Nothing was changed.</p>}
          {notable.length > 0 && (
            <FilterRow
              filter={filter}
              onFilter={setFilter}
              onChooseAll={() => toggle(listed.map(({ path }) => path))}
            />
          )}
          {filter !== "" && (
            <p class="facts" role="status">
              {stacked.length.toLocaleString("en")} of {counted(notable.length, "change")}
            </p>
          )}
          <ChangeList
            rows={rows}
            changes={stacked.length}
            choices={choices}
            closed={closed}
            current={current}
            byPath={byPath}
            notable={notablePaths}
            comments={openComments}
            {...(isNarrow && { opened, contentOf: placeOf })}
            onToggle={on.onToggle}
            onFold={on.onFold}
            onShow={on.onShow}
          />
          <RunView runs={runs} title="All commands" />
        </nav>
        {!isNarrow && <Stack changes={stacked} placeOf={placeOf} />}
      </main>
      {asked?.kind === "commit" && (
        <Dialog
          title={`Commit ${counted(chosen.length, "change")}?`}
          action="Commit"
          onDo={() => void commit(asked.protected)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            They are written to <bdi>{shown(facts.workspace || "the workspace")}</bdi>.
            {partly > 0 && ` Of ${counted(partly, "file")} only some hunks: the others wait.`}
            {facts.isLive && " What runs in the transaction is ended."}
          </p>
          {written.length > 0 && (
            <>
              {deleted.length > 0 && <h3>{counted(written.length, "change")} to be written</h3>}
              <Names paths={written} label="to be written" />
            </>
          )}
          {deleted.length > 0 && (
            <>
              <h3 class="bad">
                {counted(deleted.length, "path")} to be <strong>deleted</strong>
              </h3>
              <Names paths={deleted} label="to be deleted" />
            </>
          )}
          {asked.protected.length > 0 && (
            <>
              <p class="warning">Programs of this host run these, or obey them, by themselves:</p>
              <Names paths={asked.protected} />
            </>
          )}
        </Dialog>
      )}
      {asked?.kind === "discard" && (
        <Dialog
          title="Discard all changes?"
          action="Discard"
          isDanger
          onDo={() =>
            void doing(async () => {
              await api.discard();
              return "Discarded.";
            })
          }
          onClose={() => setAsked(undefined)}
        >
          <p>What was not committed is gone then, and what runs is ended. It can't be undone.</p>
        </Dialog>
      )}
      {asked?.kind === "undo" && (
        <Dialog
          title="Undo the last commit?"
          action="Undo"
          onDo={() =>
            void doing(async () => {
              await api.undo();
              return "The host's files are as they were; the changes wait again.";
            })
          }
          onClose={() => setAsked(undefined)}
        >
          <p>
            The host's files become those that they were, unless the host has changed them since.
          </p>
        </Dialog>
      )}
      {asked?.kind === "keys" && <KeysDialog onClose={() => setAsked(undefined)} />}
    </>
  );
}
