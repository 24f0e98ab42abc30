/**
 * Certificates and keys that settings name by path: looked at when a program starts, so that it says then which file is
 * wrong.
 */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

/** Largest file, in bytes. The authorities of a whole system are about 220 KiB. */
export const PEM_FILE_BYTES_MAX = 1_048_576;

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END (?:X509 |TRUSTED )?CERTIFICATE-----/gu;

/** What a file holds, or in one line what is wrong with it. */
export type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** A setting that names a file, and the file. */
export interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

/** A certificate of our own and its key, as their files have them. */
export interface OwnCertificate {
  /** PEM, with those that vouch for it. */
  readonly text: string;
  readonly certificate: X509Certificate;
  /** PEM. */
  readonly keyText: string;
}

/** What is wrong with a file of one certificate or several, in one line that names the setting; null: nothing. */
export function certificatesProblem(setting: string, path: string): string | null {
  const read = certificates({ setting, path });
  return read.ok ? null : read.problem;
}

/**
 * The same of a certificate of our own, as a client or a server (first in its file; those that vouch for it may
 * follow), and its key, which must not be encrypted.
 */
export function clientCertificateProblem(cert: NamedFile, key: NamedFile): string | null {
  const read = ownCertificate(cert, key);
  return read.ok ? null : read.problem;
}

/** The same, with what the files hold. */
export function ownCertificate(cert: NamedFile, key: NamedFile): Read<OwnCertificate> {
  const certs = certificates(cert);
  if (!certs.ok) return certs;
  const secret = privateKey(key);
  if (!secret.ok) return secret;
  const [certificate] = certs.value.parsed;
  if (certificate?.checkPrivateKey(secret.value.parsed) === true)
    return { ok: true, value: { text: certs.value.text, certificate, keyText: secret.value.text } };
  return {
    ok: false,
    problem: `${key.setting} is ${JSON.stringify(key.path)}: it is not the key of the certificate in ${cert.setting}`,
  };
}

/** A file and what is in it. */
interface Parsed<T> {
  readonly text: string;
  readonly parsed: T;
}

function certificates(file: NamedFile): Read<Parsed<X509Certificate[]>> {
  return parsedFile(file, 'certificates', (text) => {
    const blocks = text.match(CERTIFICATE) ?? [];
    return blocks.length === 0 ? null : blocks.map((block) => new X509Certificate(block));
  });
}

function privateKey(file: NamedFile): Read<Parsed<KeyObject>> {
  return parsedFile(file, 'an unencrypted private key', (text) => createPrivateKey(text));
}

function parsedFile<T>({ setting, path }: NamedFile, what: string, parse: (text: string) => T | null): Read<Parsed<T>> {
  const problem = (why: string) =>
    ({
      ok: false,
      problem: `${setting} is ${JSON.stringify(path)}: ${why}; it should be a PEM file of ${what}`,
    }) as const;
  let text: string;
  try {
    if (statSync(path).size > PEM_FILE_BYTES_MAX) return problem('the file is too large');
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return problem(`the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
  try {
    const value = parse(text);
    return value === null ? problem('the file holds none') : { ok: true, value: { text, parsed: value } };
  } catch {
    return problem('the file holds none that can be read'); // OpenSSL's words would only confuse, and might quote a key
  }
}
