/** Comments, and the form that writes them. */

import type { TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { visibleText } from "../../../lib/text.js";
import * as api from "../api.js";
import { type Draft, drop, edit, type as keep } from "../drafts.js";
import type { ReviewComment } from "../model.js";
import { shown } from "../words.js";

/** Returns where a comment is, in words. */
export function placeWords({ side, line }: api.Place): string {
  if (line === undefined) return "the file";
  return side === "before" ? `line ${line} before` : `line ${line}`;
}

/** Gives the focus back to the editor that a form was in, or to the file's button. */
function leave(form: HTMLElement): void {
  const { activeElement, body } = document;
  if (activeElement !== body && !form.contains(activeElement)) return; // the person has gone on
  const button = form.closest("article")?.querySelector<HTMLElement>(".file .write");
  const editor = form.closest<HTMLElement>(".cm-content");
  (editor ?? button)?.focus({ preventScroll: true });
}

export function CommentForm({ draft }: { draft: Draft }) {
  const { place, id, text } = draft;
  const form = useRef<HTMLFormElement>(null);
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [isEmpty, setEmpty] = useState(text.trim() === "");
  useEffect(() => {
    if (!draft.isNew) return;
    // The editor takes the form in after this.
    const frame = requestAnimationFrame(() => {
      draft.isNew = false;
      form.current?.querySelector("textarea")?.focus({ preventScroll: true });
      form.current?.scrollIntoView({ block: "nearest" });
    });
    return () => cancelAnimationFrame(frame);
  }, [draft]);
  const close = () => {
    if (form.current) leave(form.current);
    drop(draft);
  };
  const submit = async () => {
    if (draft.text.trim() === "" || isBusy) return;
    setBusy(true);
    setFailure(undefined);
    try {
      if (id === undefined) await api.addComment(place, draft.text);
      else await api.changeComment(id, { text: draft.text });
      close();
    } catch (error) {
      setFailure((error as Error).message);
      setBusy(false);
    }
  };
  const press = (event: TargetedKeyboardEvent<HTMLTextAreaElement>) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit();
    else return;
    event.preventDefault();
  };
  const words = placeWords(place);
  return (
    <form
      ref={form}
      class="write"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <textarea
        aria-label={`comment on ${words} of ${shown(place.path)}`}
        placeholder={`Comment on ${words}…`}
        rows={3}
        maxLength={16_384}
        defaultValue={text}
        onKeyDown={press}
        onInput={({ currentTarget }) => {
          keep(draft, currentTarget.value);
          setEmpty(currentTarget.value.trim() === "");
        }}
      />
      {failure !== undefined && (
        <p class="warning" role="alert">
          {shown(failure)}
        </p>
      )}
      <div class="buttons">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={isEmpty || isBusy}>
          {id === undefined ? "Comment" : "Save"}
        </button>
      </div>
    </form>
  );
}

type CardProperties = {
  comment: ReviewComment;
  /** The new text that a person writes. */
  draft: Draft | undefined;
  /** True where it is not below its line: then it says where it was written. */
  isAway: boolean;
};

const kTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export function CommentCard({ comment, draft, isAway }: CardProperties) {
  const { id, path, side, line, lineText, text, isResolved, isOutdated, createdAt } = comment;
  const [failure, setFailure] = useState<string>();
  const [isSure, setSure] = useState(false);
  const words = placeWords({ path, side, ...(line !== undefined && { line }) });
  const doing = (what: () => Promise<unknown>) => () => {
    setFailure(undefined);
    what().catch((error: Error) => setFailure(error.message));
  };
  const settle = doing(() => api.changeComment(id, { isResolved: !isResolved }));
  const remove = doing(() => api.removeComment(id));
  const place = { path, side, ...(line !== undefined && { line }) };
  const head = (
    <>
      {(isAway || line === undefined || side === "before") && <strong>{words}</strong>}{" "}
      {isOutdated && <strong class="tag">outdated</strong>}{" "}
      {isResolved && <strong class="tag good">resolved</strong>}{" "}
      <time dateTime={createdAt}>{kTime.format(new Date(createdAt))}</time>
    </>
  );
  const body = (
    <>
      {isAway && lineText !== undefined && (
        <blockquote class="quoted">
          <span class="sr">written on: </span>
          {visibleText(lineText) || " "}
        </blockquote>
      )}
      {draft ? (
        <CommentForm draft={draft} />
      ) : (
        <>
          <p class="text">{visibleText(text)}</p>
          {failure !== undefined && (
            <p class="warning" role="alert">
              {shown(failure)}
            </p>
          )}
          <div class="buttons">
            {isSure ? (
              <>
                <button type="button" onClick={() => setSure(false)}>
                  Keep it
                </button>
                <button type="button" class="danger" onClick={remove}>
                  Delete it
                </button>
              </>
            ) : (
              <>
                <button type="button" onClick={() => edit(id, place, text)}>
                  Edit
                </button>
                <button type="button" onClick={() => setSure(true)}>
                  Delete
                </button>
                <button type="button" onClick={settle}>
                  {isResolved ? "Open again" : "Resolve"}
                </button>
              </>
            )}
          </div>
        </>
      )}
    </>
  );
  const label = `comment on ${words} of ${shown(path)}`;
  if (isResolved && !draft) {
    return (
      <details class="comment" aria-label={label} data-comment={id}>
        <summary>{head}</summary>
        {body}
      </details>
    );
  }
  return (
    <section class="comment" aria-label={label} data-comment={id}>
      <p class="head">{head}</p>
      {body}
    </section>
  );
}

type ThreadProperties = {
  comments: readonly ReviewComment[];
  drafts: readonly Draft[];
  isAway?: boolean;
};

/** The comments of one place, with what is being written there. */
export function Thread({ comments, drafts, isAway = false }: ThreadProperties) {
  return (
    <div class="thread">
      {comments.map((comment) => (
        <CommentCard
          key={comment.id}
          comment={comment}
          draft={drafts.find(({ id }) => id === comment.id)}
          isAway={isAway}
        />
      ))}
      {drafts
        .filter(({ id }) => id === undefined)
        .map((draft) => (
          <div key={draft.key}>
            {isAway && draft.place.lineText !== undefined && (
              <p class="head">
                <strong>{placeWords(draft.place)}</strong> <strong class="tag">outdated</strong>
              </p>
            )}
            <CommentForm draft={draft} />
          </div>
        ))}
    </div>
  );
}
