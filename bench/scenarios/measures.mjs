// Measures that several scenarios share; see rows.mjs for their fields.

export const runTime = {
  name: "one run",
  unit: "ms",
  sample: (burst) => burst.runMs,
};

export const throughput = {
  name: "throughput",
  unit: "runs/s",
  higherIsBetter: true,
  sample: (burst) => (burst.runMs.length / burst.wallMs) * 1e3,
};

// The variant's own process, all its threads, without its children.
export const hostCpu = {
  name: "host CPU per run",
  unit: "ms",
  sample: (burst) => burst.cpuMs / burst.runMs.length,
};

// All that the machine did for it: of the host, the sandbox, the command and the kernel's threads.
export const machineCpu = {
  name: "CPU of the machine per run",
  unit: "ms",
  sample: (burst) => burst.machineMs / burst.runMs.length,
};

export const wall = {
  name: "wall",
  unit: "ms",
  sample: (burst) => burst.wallMs,
};

/** What the variant's own process has resident after a burst. */
export const hostMemory = {
  name: "host RSS",
  unit: "MiB",
  sample: (burst) => burst.residentBytes / 2 ** 20,
};

export const loopDelay = {
  name: "loop delay",
  unit: "ms",
  sample: (burst) => burst.loopP50Ms,
  tailSample: (burst) => burst.loopP99Ms,
};

export const peakGrowth = {
  name: "peak RSS growth",
  unit: "MiB",
  sample: (burst) => burst.peakGrowthBytes / 2 ** 20,
};
