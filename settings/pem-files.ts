/**
 * Certificates and keys that settings name by path: looked at when a program starts, so that it says then which file is
 * wrong.
 */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

/** Largest file, in bytes. The authorities of a whole system are about 220 KiB. */
export const PEM_FILE_BYTES_MAX = 1_048_576;

const CERTIFICATE = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]+-----END (?:X509 |TRUSTED )?CERTIFICATE-----/gu;

type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** What is wrong with a file of one certificate or several, in one line that names the setting; null: nothing. */
export function certificatesProblem(setting: string, path: string): string | null {
  const read = certificates(setting, path);
  return read.ok ? null : read.problem;
}

/**
 * The same of a certificate of our own, as a client or a server (first in its file; those that vouch for it may
 * follow), and its key, which must not be encrypted.
 */
export function clientCertificateProblem(
  cert: { readonly setting: string; readonly path: string },
  key: { readonly setting: string; readonly path: string },
): string | null {
  const certs = certificates(cert.setting, cert.path);
  if (!certs.ok) return certs.problem;
  const secret = privateKey(key.setting, key.path);
  if (!secret.ok) return secret.problem;
  return certs.value[0]?.checkPrivateKey(secret.value)
    ? null
    : `${key.setting} is ${JSON.stringify(key.path)}: it is not the key of the certificate in ${cert.setting}`;
}

function certificates(setting: string, path: string): Read<X509Certificate[]> {
  return parsed(setting, path, 'certificates', (text) => {
    const blocks = text.match(CERTIFICATE) ?? [];
    return blocks.length === 0 ? null : blocks.map((block) => new X509Certificate(block));
  });
}

function privateKey(setting: string, path: string): Read<KeyObject> {
  return parsed(setting, path, 'an unencrypted private key', (text) => createPrivateKey(text));
}

function parsed<T>(setting: string, path: string, what: string, parse: (text: string) => T | null): Read<T> {
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
    return value === null ? problem('the file holds none') : { ok: true, value };
  } catch {
    return problem('the file holds none that can be read'); // OpenSSL's words would only confuse, and might quote a key
  }
}
