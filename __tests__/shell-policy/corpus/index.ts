import { kBlockList } from "./block-list.js";
import { kBypasses } from "./bypasses.js";
import { kOrdinary } from "./ordinary.js";

export const kCorpus = [...kOrdinary, ...kBlockList, ...kBypasses];
