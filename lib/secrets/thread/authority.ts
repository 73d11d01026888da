/** The certificate authority of a runner: in memory, for as long as the runner lives. */

import "reflect-metadata";
import { randomBytes, webcrypto } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";

import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";

// Every client that speaks TLS 1.2 takes it, and it signs in well under a millisecond.
const kAlgorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const kDayMs = 24 * 60 * 60 * 1000;
const kCaDays = 825; // some clients refuse longer ones
const kLeafDays = 90;
const kMostContexts = 256;

type Keys = webcrypto.CryptoKeyPair;

/** Valid from an hour ago, for clients whose clock is behind. */
const validFor = (days: number) => ({
  notBefore: new Date(Date.now() - kDayMs / 24),
  notAfter: new Date(Date.now() + days * kDayMs),
});

const makeKeys = () =>
  webcrypto.subtle.generateKey(kAlgorithm, true, ["sign", "verify"]) as Promise<Keys>;

/** Positive, as RFC 5280, 4.1.2.2, has it. */
const serialNumber = () => `01${randomBytes(15).toString("hex")}`;

export class Authority {
  /** The authority's certificate, which clients trust. */
  readonly pem: string;
  readonly #certificate: X509Certificate;
  readonly #keys: Keys;
  readonly #leafKeys: Keys;
  readonly #leafKeyPem: string;
  readonly #contexts = new Map<string, Promise<SecureContext>>();

  static async make(): Promise<Authority> {
    const keys = await makeKeys();
    const leafKeys = await makeKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      serialNumber: serialNumber(),
      name: `CN=native-runner ${randomBytes(4).toString("hex")}`,
      ...validFor(kCaDays),
      signingAlgorithm: kAlgorithm,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", leafKeys.privateKey);
    const pem = PemConverter.encode(pkcs8, PemConverter.PrivateKeyTag);
    return new Authority(certificate, keys, leafKeys, pem);
  }

  private constructor(certificate: X509Certificate, keys: Keys, leaf: Keys, pem: string) {
    this.#certificate = certificate;
    this.#keys = keys;
    this.#leafKeys = leaf;
    this.#leafKeyPem = pem;
    this.pem = `${certificate.toString("pem")}\n`;
  }

  /** What a server needs to be this host; made once for each. */
  contextFor(host: string): Promise<SecureContext> {
    const known = this.#contexts.get(host);
    if (known !== undefined) return known;
    const made = this.#makeContext(host);
    this.#contexts.set(host, made);
    // Names below a wildcard are the commands' choice.
    const [oldest] = this.#contexts.keys();
    if (this.#contexts.size > kMostContexts && oldest !== undefined) this.#contexts.delete(oldest);
    return made;
  }

  async #makeContext(host: string): Promise<SecureContext> {
    const leaf = await X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: "CN=native-runner",
      issuer: this.#certificate.subject,
      ...validFor(kLeafDays),
      publicKey: this.#leafKeys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: kAlgorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        new SubjectAlternativeNameExtension([{ type: "dns", value: host }]),
        await AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
        await SubjectKeyIdentifierExtension.create(this.#leafKeys.publicKey),
      ],
    });
    return createSecureContext({
      key: this.#leafKeyPem,
      cert: `${leaf.toString("pem")}\n${this.pem}`,
    });
  }
}
