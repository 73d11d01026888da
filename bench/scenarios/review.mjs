// What a person waits for at the review page, in headless Chromium: 5,000 changes, one file of 2 MB.

const kSizes = { full: { rounds: 10, runs: 3 }, quick: { rounds: 2, runs: 2 } };

const milliseconds = (name, limit) => ({
  name,
  unit: "ms",
  sample: (burst) => burst.runMs,
  limit,
});

export const review = [
  {
    name: "review-paint",
    work: "the review page of 5,000 changes, from the visit until the list of them is on the screen",
    variants: ["reviewPaint"],
    sizes: kSizes,
    request: {},
    measures: [milliseconds("until it is painted", { of: "p50", atMost: 1000, aim: 500 })],
  },
  {
    name: "review-scroll",
    work: "scrolling through the list of 5,000 changes, 60 pixels with each frame, for two seconds",
    variants: ["reviewScroll"],
    sizes: kSizes,
    request: {},
    measures: [
      {
        name: "frames",
        unit: "per second",
        sample: (burst) => burst.runMs,
        limit: { of: "p50", atLeast: 50, aim: 58 },
      },
    ],
  },
  {
    name: "review-file",
    work: "opening a file of 2 MB with five changed lines, until both sides are on the screen",
    variants: ["reviewFile"],
    sizes: kSizes,
    request: {},
    measures: [milliseconds("until it is painted", { of: "p50", atMost: 1000, aim: 500 })],
  },
];
