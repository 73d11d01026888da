// What an audit log costs: a record, a run's thread, and a look at all of it.

import { loopDelay } from "./measures.mjs";

const kRecords = 1000;

const record = {
  name: "audit-record",
  work:
    `${kRecords.toLocaleString("en")} records of a run, 1.6 KiB each, added at once and flushed: chained; ` +
    "signed as well, each 64th; and lines of the same length that are appended one by one, without a chain",
  variants: ["auditChained", "auditSigned", "auditPlain"],
  sizes: { full: { rounds: 30, runs: 10 }, quick: { rounds: 3, runs: 3 } },
  request: {},
  measures: [
    {
      name: "a record",
      unit: "µs",
      sample: (burst) => burst.runMs.map((ms) => (ms / kRecords) * 1000),
      limit: { of: "p50", atMost: 60, aim: 40 },
    },
  ],
};

const rate = {
  name: "audit-rate",
  work: "10,000 records a second, 10 each millisecond, for a second, and then a flush",
  variants: ["auditRate"],
  sizes: { full: { rounds: 10, runs: 1 }, quick: { rounds: 2, runs: 1 } },
  request: { watchLoop: true },
  measures: [
    { ...loopDelay, limit: { of: "p99", atMost: 5, aim: 2.5 } },
    {
      name: "records lost",
      unit: "",
      sample: (burst) => burst.lost,
      limit: { of: "max", atMost: 0, aim: 0 },
    },
  ],
};

const verify = {
  name: "audit-verify",
  work: "verifyAuditLog of 100,000 records of a run, 1.6 KiB each, chained and signed, without the key and with it",
  variants: ["auditVerify", "auditVerifySigned"],
  sizes: { full: { rounds: 5, runs: 1 }, quick: { rounds: 1, runs: 1 } },
  request: {},
  measures: [
    {
      name: "a million records",
      unit: "s",
      sample: (burst) => burst.runMs.map((ms) => (ms * 10) / 1000),
      limit: { of: "p50", atMost: 60, aim: 20 },
    },
    {
      name: "a million records, with signatures",
      of: "auditVerifySigned",
      unit: "s",
      sample: (burst) => burst.runMs.map((ms) => (ms * 10) / 1000),
      limit: { of: "p50", atMost: 60, aim: 20 },
    },
  ],
};

export const auditLog = [record, rate, verify];
