import { Attachment } from "./attachment.js";

/** A tenant can't fill the memory of a worker by inventing callers; it holds up nobody but itself. */
const kMostOfTenant = 4_096;

/** The callers that a worker knows. Belongs to one worker. */
export class Attachments {
  readonly #tenants = new Map<string, Map<string, Attachment>>();
  readonly #most: number;
  #leases = 0;

  constructor(most = kMostOfTenant) {
    this.#most = most;
  }

  /** The caller's, made when it is new. Undefined: its tenant has as many callers as one may have. */
  of(tenant: string, caller: string, now: number): Attachment | undefined {
    const callers = this.#tenants.get(tenant) ?? new Map<string, Attachment>();
    const known = callers.get(caller);
    if (known !== undefined) return known;
    if (callers.size >= this.#most) return undefined;
    const made = new Attachment(tenant, caller, () => ++this.#leases, now);
    callers.set(caller, made);
    this.#tenants.set(tenant, callers);
    return made;
  }

  forget({ tenant, caller }: Attachment): void {
    const callers = this.#tenants.get(tenant);
    callers?.delete(caller);
    if (callers?.size === 0) this.#tenants.delete(tenant);
  }

  *[Symbol.iterator](): Generator<Attachment> {
    for (const callers of this.#tenants.values()) yield* callers.values();
  }
}
