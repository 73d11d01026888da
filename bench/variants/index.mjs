// What is measured. A variant with a module runs in a Node process of its own; the C floor is a
// program that is started for each round.

export const kVariants = {
  ours: { title: "ours", module: "ours.mjs" },
  cold: { title: "ours, cold", module: "ours.mjs" },
  prewarmed: { title: "ours, prewarmed", module: "prewarmed.mjs" },
  floor: { title: "(a) C floor" },
  childProcess: { title: "(b) child_process", module: "child-process.mjs" },
  execa: { title: "(c) execa", module: "execa.mjs" },
  landlock: { title: "our Landlock", module: "landlock.mjs" },
  bubblewrap: { title: "our Bubblewrap", module: "ours.mjs" },
  shellLists: { title: "our shell lists", module: "shell-lists.mjs" },
  shellParser: { title: "unbash alone", module: "shell-parser.mjs" },
};
