/** The page: the branches, where there are some to choose from, or the review of the transaction. */

import { useState } from "preact/hooks";

import type { Choices } from "../choices.js";
import { useBranches } from "../use-branches.js";
import { App } from "./app.js";
import { BranchesView } from "./branches.js";

export function Page() {
  const { seen, load } = useBranches();
  const [isReview, setReview] = useState(false);
  const [choices, setChoices] = useState<Choices>(new Map());
  const { facts, columns } = seen;
  if (facts === undefined || columns === undefined) {
    return (
      <main>
        <h1>Review</h1>
        <p role="status">{seen.failure ?? "Loading the changes…"}</p>
      </main>
    );
  }
  const hasBranches = columns.length > 0;
  if (hasBranches && !isReview) {
    return (
      <BranchesView
        facts={facts}
        columns={columns}
        seen={seen}
        load={load}
        onReview={() => setReview(true)}
      />
    );
  }
  const onBranches = hasBranches ? () => setReview(false) : undefined;
  return <App choices={choices} setChoices={setChoices} onBranches={onBranches} />;
}
