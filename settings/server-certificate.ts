/** The certificate with which an admin serves HTTPS: whole, fitting and valid now, or one line that says why not. */
import { createSecureContext } from 'node:tls';
import { ownCertificate, type NamedFile, type Read } from './pem-files.ts';

/** A pair that can be shown to clients. Shape: transport/net/tls/certificate-watch.ts, ServedPair. */
export interface ServerCertificate {
  /** PEM: the certificate first, then those that vouch for it. */
  readonly certificate: string;
  /** PEM. */
  readonly key: string;
  /** Unix time, in ms. */
  readonly expiresAtMs: number;
}

/** Reads both files. `nowMs`: Unix time. */
export function serverCertificate(cert: NamedFile, key: NamedFile, nowMs: number): Read<ServerCertificate> {
  const read = ownCertificate(cert, key);
  if (!read.ok) return read;
  const { text, certificate, keyText } = read.value;
  const problem = (why: string) =>
    ({ ok: false, problem: `${cert.setting} is ${JSON.stringify(cert.path)}: ${why}` }) as const;

  const [beginsAtMs, expiresAtMs] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  if (expiresAtMs <= nowMs)
    return problem(`the certificate expired at ${isoOf(expiresAtMs)}; it should be one that is valid now`);
  if (beginsAtMs > nowMs)
    return problem(
      `the certificate is valid from ${isoOf(beginsAtMs)} on, and this machine has ${isoOf(nowMs)}; one of them is wrong`,
    );
  try {
    createSecureContext({ cert: text, key: keyText });
  } catch (error) {
    return problem(`OpenSSL does not take it (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
  return { ok: true, value: { certificate: text, key: keyText, expiresAtMs } };
}

function isoOf(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
