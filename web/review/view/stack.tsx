/** All changes one below the other. Only those near the screen have places, and content. */

import type { ComponentChildren } from "preact";
import { memo } from "preact/compat";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { ReviewChange } from "../model.js";

/** How far from the screen a change gets its content, in heights of the screen. */
const kNear = "100% 0px";
const kHeadPixels = 46;
const kLinePixels = 20;
const kBytesOfLine = 30;
const kMostGuessedLines = 30;

const near = new WeakMap<Element, (entry: IntersectionObserverEntry) => void>();
const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) near.get(entry.target)?.(entry);
  },
  { rootMargin: kNear },
);

/** Pixels per frame from which a person scrolls too fast to read: nothing gets its content then. */
const kFastPixels = 50;
const kSlowAfterMs = 120;
const postponed = new Set<() => void>();
let last = scrollY;
let slow: ReturnType<typeof setTimeout> | undefined;
addEventListener(
  "scroll",
  () => {
    const isFast = Math.abs(scrollY - last) >= kFastPixels;
    last = scrollY;
    if (!isFast) return;
    clearTimeout(slow);
    slow = setTimeout(() => {
      slow = undefined;
      const works = [...postponed];
      postponed.clear();
      for (const work of works) work();
    }, kSlowAfterMs);
  },
  { passive: true },
);

/** Returns about the height of a change that was not shown yet, in pixels. */
function guessedHeight({ type, size, previousSize }: ReviewChange): number {
  const lines = type === "file" ? Math.ceil(Math.max(size, previousSize) / kBytesOfLine) + 2 : 1;
  return kHeadPixels + Math.min(lines, kMostGuessedLines) * kLinePixels;
}

/** Heights of changes that had content, by path: a place that is made again begins with the one that it had. */
const heights = new Map<string, number>();

const heightOf = (change: ReviewChange) => heights.get(change.path) ?? guessedHeight(change);

type SlotProperties = {
  change: ReviewChange;
  /** Called only while the place is near the screen. */
  children(): ComponentChildren;
};

/** The place of one change: it keeps its height while its content is away. */
export function Slot({ change, children }: SlotProperties) {
  const place = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  const hasContent = useRef(false);
  const { path } = change;
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    const fill = () => {
      hasContent.current = true;
      setNear(true);
    };
    near.set(element, ({ isIntersecting, boundingClientRect }) => {
      if (isIntersecting) {
        if (slow === undefined) fill();
        else postponed.add(fill);
        return;
      }
      postponed.delete(fill);
      if (hasContent.current) heights.set(path, boundingClientRect.height);
      hasContent.current = false;
      setNear(false);
    });
    observer.observe(element);
    return () => {
      postponed.delete(fill);
      observer.unobserve(element);
    };
  }, [path]);
  return (
    <div
      class="slot"
      ref={place}
      data-slot={path}
      style={isNear ? { height: "" } : { height: `${heightOf(change)}px` }}
    >
      {isNear && children()}
    </div>
  );
}

/** Changes per group. Only groups near the screen have places: a browser looks at each place in each frame. */
const kChangesOfGroup = 40;

type Properties = {
  changes: readonly ReviewChange[];
  /** Makes the place of one change; another function makes all of them anew. */
  placeOf(change: ReviewChange): ComponentChildren;
};

/** The element of the group that a change is in, by path. */
const groups = new Map<string, Element>();

const Group = memo(({ changes, placeOf }: Properties) => {
  const place = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  useLayoutEffect(() => {
    const element = place.current;
    if (element === null) return;
    near.set(element, ({ isIntersecting }) => setNear(isIntersecting));
    observer.observe(element);
    for (const { path } of changes) groups.set(path, element);
    return () => {
      observer.unobserve(element);
      for (const { path } of changes) if (groups.get(path) === element) groups.delete(path);
    };
  }, [changes]);
  const height = () => changes.reduce((sum, change) => sum + heightOf(change), 0);
  return (
    <div ref={place} style={isNear ? { height: "" } : { height: `${height()}px` }}>
      {isNear && changes.map(placeOf)}
    </div>
  );
});

export function Stack({ changes, placeOf }: Properties) {
  const parts = useMemo(() => {
    const count = Math.ceil(changes.length / kChangesOfGroup);
    return Array.from({ length: count }, (_, at) =>
      changes.slice(at * kChangesOfGroup, (at + 1) * kChangesOfGroup),
    );
  }, [changes]);
  return (
    <section class="stack" aria-label="contents">
      {parts.map((part, at) => (
        <Group key={at} changes={part} placeOf={placeOf} />
      ))}
    </section>
  );
}

const kMostTries = 120;

/** Scrolls to the place of a change, as soon as it is made, and again while those above it get their content. */
export function scrollToChange(path: string): void {
  let tries = 0;
  let still = 0;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  const events = ["wheel", "touchstart", "pointerdown", "keydown"] as const;
  const step = () => {
    tries += 1;
    const slot = document.querySelector(`.slot[data-slot="${CSS.escape(path)}"]`);
    const place = slot ?? groups.get(path);
    const before = place?.getBoundingClientRect().top;
    place?.scrollIntoView({ block: "start" });
    still = slot && place && before === place.getBoundingClientRect().top ? still + 1 : 0;
    if (!isStopped && tries < kMostTries && still < kStillFrames) requestAnimationFrame(step);
    else for (const name of events) removeEventListener(name, stop);
  };
  requestAnimationFrame(() => {
    for (const name of events) addEventListener(name, stop, { passive: true });
    step();
  });
}
const kStillFrames = 20;

/** Least time that has to be left of a frame for a piece of costly work, in ms. */
const kLeastLeftMs = 5;
/** After this long, in ms, one piece is done whatever is left: a slow machine may never have so much of a frame. */
const kMostWaitMs = 300;
const waiting = new Set<() => void>();
/** When the next piece is done whatever is left of the frame; undefined while none waits. */
let due: number | undefined;

function request(): void {
  requestIdleCallback(next, { timeout: kMostWaitMs });
}

function next(idle: IdleDeadline): void {
  const [work] = waiting;
  const isTime = idle.timeRemaining() >= kLeastLeftMs || performance.now() >= (due ?? 0);
  try {
    if (work && isTime) {
      waiting.delete(work);
      due = performance.now() + kMostWaitMs;
      work();
    }
  } finally {
    if (waiting.size > 0) request();
    else due = undefined;
  }
}

/** Does costly work when the browser has time for it, one piece after the other; the returned function takes it back. */
export function whenIdle(work: () => void): () => void {
  waiting.add(work);
  if (due === undefined) {
    due = performance.now() + kMostWaitMs;
    request();
  }
  return () => waiting.delete(work);
}
