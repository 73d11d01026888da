import { packageVersion } from "../../package-version.js";
import type { RuntimeType } from "../../runtime/names.js";
import { readPolicy } from "../choose-runner.js";
import { wantsColors, watchOutput } from "../terminal.js";
import { type DoctorReport, examine } from "./doctor-report.js";
import { doctorText } from "./doctor-text.js";

/** As commander hands them over. */
export type DoctorOptions = { json?: boolean; config?: string; runtime?: RuntimeType };

/** 0 when what was asked for confines, or is native by its name; else 1. */
export function doctorExitCode({ chosen, runtimeType }: DoctorReport): number {
  return chosen !== null && (chosen !== "native" || runtimeType === "native") ? 0 : 1;
}

/** `native-runner doctor`: which runtimes work here, proved, and what would help the others. */
export async function doctor(options: DoctorOptions): Promise<void> {
  watchOutput(() => {});
  const report = await examine(packageVersion(), await readPolicy(options, process.env));
  const text = options.json
    ? JSON.stringify(report, null, 2)
    : doctorText(report, wantsColors(process.stdout));
  process.stdout.write(`${text}\n`);
  process.exitCode ??= doctorExitCode(report);
}
