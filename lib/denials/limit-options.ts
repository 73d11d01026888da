/** The command line's options for limits that a run can meet with, by the limit's name. */
export const kRunLimitOptions: Readonly<Record<string, string>> = {
  memoryBytes: "--memory",
  cpuSeconds: "--cpu",
  maxProcesses: "--max-processes",
  maxOpenFiles: "--max-open-files",
  maxFileBytes: "--max-file",
};
