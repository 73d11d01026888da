// A session of that runner.
import { runner } from "./runner.mjs";

export const session = await runner.openSession();
