/** Certificates, as text. */

import { invalidValue } from "../../errors.js";
import { expectFields, type FieldsOf } from "../../fields.js";
import { expectText } from "./secret-text.js";

/** Each is PEM text. */
export type BrokerTls = {
  /** Certificates of authorities that may have signed the server's. Default: those that Node trusts. */
  ca?: string | undefined;
  /** Of this client, for servers that want one; with `key`. */
  cert?: string | undefined;
  /** Of `cert`. */
  key?: string | undefined;
};

const kFields: FieldsOf<BrokerTls> = { ca: true, cert: true, key: true };
const kPem = /^\s*-----BEGIN [A-Z0-9 ]+-----\s/m;

/** @throws TypeError that names the field, without any secret. */
export function readTls(tls: unknown): BrokerTls {
  expectFields(tls, "tls", kFields);
  const { ca, cert, key } = tls as BrokerTls;
  for (const [name, value] of Object.entries({ ca, cert, key })) {
    if (value === undefined) continue;
    expectText(value, `tls.${name}`);
    if (!kPem.test(value)) {
      throw invalidValue(`Expected \`tls.${name}\` to be PEM text ("-----BEGIN …"), not a path`);
    }
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw invalidValue("Expected `tls.cert` and `tls.key` to be given together");
  }
  return { ca, cert, key };
}
