/** The page: the tree beside the current change. */

import { useMemo, useRef, useState } from "preact/hooks";

import * as api from "../api.js";
import { type Choices, kept, toggled, wishOf, withHunk } from "../choices.js";
import { type Hunk, Refusal, type ReviewChange } from "../model.js";
import { type Row, rowsOf } from "../tree.js";
import { useKeys } from "../use-keys.js";
import { useReview } from "../use-review.js";
import { counted, shown } from "../words.js";
import { ChangeList } from "./change-list.js";
import { ChangeView } from "./change-view.js";
import { Dialog, KeysDialog } from "./dialogs.js";
import { Header } from "./header.js";
import { RunView } from "./run-view.js";
import type { DiffHandle } from "./text-diff.js";

type Asked =
  | { kind: "commit"; protected: readonly string[] }
  | { kind: "discard" | "undo" | "keys" };

const kMostNames = 12;

function Names({ paths }: { paths: readonly string[] }) {
  return (
    <ul class="names">
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

export function App() {
  const [choices, setChoices] = useState<Choices>(new Map());
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState<string>();
  const [isUnified, setUnified] = useState(() => matchMedia("(max-width: 60rem)").matches);
  const [asked, setAsked] = useState<Asked>();
  const [said, setSaid] = useState("");
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);
  const [hunk, setHunk] = useState(0);
  const diff = useRef<DiffHandle | undefined>(undefined);

  const { seen, load } = useReview((changes) => {
    const { choices: left, dropped } = kept(choices, changes);
    if (dropped.length === 0) return;
    setChoices(left);
    if (!isBusy)
      setSaid(`${counted(dropped.length, "chosen file")} changed since, and not chosen any more`);
  });
  const { facts, changes = [], runs } = seen;
  const byPath = useMemo(() => new Map(changes.map((change) => [change.path, change])), [changes]);
  const rows = useMemo(() => rowsOf(changes, closed), [changes, closed]);
  const files = useMemo(() => rows.filter(({ below, change }) => change && !below), [rows]);
  const at = current === undefined ? undefined : byPath.get(current);

  const show = (path: string) => {
    setCurrent(path);
    setHunk(0);
    diff.current = undefined;
    requestAnimationFrame(() => {
      // On a narrow screen the article is below the tree.
      const isBeside = matchMedia("(min-width: 60rem)").matches;
      const wanted = document.querySelector(isBeside ? ".row.current" : "article");
      wanted?.scrollIntoView({ block: isBeside ? "nearest" : "start" });
    });
  };
  const step = (by: number) => {
    const index = files.findIndex(({ path }) => path === current);
    const next = files[index < 0 ? 0 : Math.min(Math.max(index + by, 0), files.length - 1)];
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
  const showHunk = (index: number) => {
    const last = (diff.current?.hunks.length ?? 1) - 1;
    const wanted = Math.min(Math.max(index, 0), last);
    setHunk(wanted);
    diff.current?.show(wanted);
  };

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
      return `Committed ${counted(committed.length, "path")}${waits}.`;
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
    a: () => toggle(changes.map(({ path }) => path)),
    n: () => showHunk(hunk + 1),
    p: () => showHunk(hunk - 1),
    t: () => at && diff.current && toggleHunk(at, diff.current.hunks, hunk),
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
  const chosen = [...choices.keys()];
  const partly = [...choices.values()].filter(({ hunks }) => hunks).length;
  const isOver = facts.state !== "open";
  return (
    <>
      <Header
        facts={facts}
        changes={changes.length}
        chosen={choices.size}
        isUnified={isUnified}
        isBusy={isBusy}
        isLost={seen.isLost}
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
      <main class={at ? "both" : ""}>
        <nav aria-label="changed files">
          {changes.length === 0 && !isOver && <p>Nothing was changed.</p>}
          {changes.length > 0 && (
            <p class="all">
              <button type="button" onClick={() => toggle(changes.map(({ path }) => path))}>
                Choose all, or none
              </button>
            </p>
          )}
          <ChangeList
            rows={rows}
            choices={choices}
            closed={closed}
            current={current}
            byPath={byPath}
            onToggle={(row: Row) => toggle(row.below ?? [row.path])}
            onFold={(path) =>
              setClosed((now) => {
                const next = new Set(now);
                if (!next.delete(path)) next.add(path);
                return next;
              })
            }
            onShow={show}
          />
          <RunView runs={runs} title="All commands" />
        </nav>
        {at && (
          <ChangeView
            change={at}
            runs={runs}
            choices={choices}
            isUnified={isUnified}
            hunk={hunk}
            onHunks={(handle) => {
              diff.current = handle;
            }}
            onHunk={showHunk}
            onToggleHunk={(hunks, index) => toggleHunk(at, hunks, index)}
          />
        )}
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
          <Names paths={chosen} />
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
