/** The connections of this Node environment: one for each broker and each who, for any number of runners. */

import { BrokerAccess, type BrokerOptions } from "../broker/broker-access.js";
import { Connection } from "../broker/connection.js";
import { Caller } from "./caller.js";

type Shared = { caller: Caller; connection: Connection; users: number };

/** By what they were made with. Runners share them, and the last one that goes closes them. */
const shared = new Map<string, Shared>();

/** A caller that a runner uses. */
export type HeldCaller = { caller(): Caller; release(): Promise<void> };

/** The caller for a tenant at a broker, made when it is first used. @throws TypeError on a wrong option */
export function holdCaller(options: BrokerOptions, tenant: string): HeldCaller {
  const access = new BrokerAccess(options);
  const { servers, credentials, tls, insecure } = options;
  const key = JSON.stringify([servers, credentials, tls, insecure, tenant]);
  let own: Shared | undefined;
  let isReleased = false;
  return {
    caller: () => {
      if (own === undefined) {
        own = shared.get(key) ?? make(access, tenant);
        if (own.connection.failure !== undefined) own = make(access, tenant); // once more, for who comes anew
        own.users += 1;
        shared.set(key, own);
      }
      return own.caller;
    },
    release: async () => {
      if (own === undefined || isReleased) return;
      isReleased = true;
      own.users -= 1;
      if (own.users > 0) return;
      if (shared.get(key) === own) shared.delete(key);
      await own.caller.close();
    },
  };
}

function make(access: BrokerAccess, tenant: string): Shared {
  const connection = new Connection(access);
  return { connection, caller: new Caller(connection, tenant), users: 0 };
}
