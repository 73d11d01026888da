// A call on any runner.
import { makeCall } from "../calls/call.mjs";
import { makePlan } from "../calls/plan.mjs";

export async function execOn(context, slot) {
  const id = context.nextCall();
  const facts = { generation: slot.workspace.generation };
  await makeCall(context, id, slot, makePlan(context.random, context.tokenOf(id, slot), facts));
}

export const exec = {
  name: "exec",
  weight: 60,
  run: (context) => execOn(context, context.runners.pick(context.random)),
};
