/**
 * The certificate that a relay shows: the operator's, from files, or one of its own, made once and known by its
 * SHA-256.
 */
import { createPrivateKey, randomUUID, X509Certificate } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { certificateSha256, selfSigned } from './self-signed.ts';

/** Name of its file in the data directory: key and certificate in one, so that they always belong together. */
const OWN_FILE = 'relay.pem';

/** One that ends sooner is made anew, in ms: 30 days. */
const LEFT_MS_MIN = 2_592_000_000;

/** What the relay's listener needs. */
export interface RelayCertificate {
  readonly certificate: string;
  readonly key: string;
  /** Its SHA-256 where nobody vouches for it, for the relay map; null: an authority does. */
  readonly pin: string | null;
}

/** Where it comes from. */
export interface CertificateOptions {
  /** PEM files; both or none. */
  readonly certificateFile: string | undefined;
  readonly keyFile: string | undefined;
  readonly dataDir: string;
  /** Whom it is for: a name or an address. */
  readonly hostName: string;
  readonly nowMs: number;
}

/** Reads it, or makes it. Rejects with a line for the operator. */
export async function relayCertificate({
  certificateFile,
  keyFile,
  dataDir,
  hostName,
  nowMs,
}: CertificateOptions): Promise<RelayCertificate> {
  if (certificateFile !== undefined && keyFile !== undefined)
    return { certificate: await fileText(certificateFile), key: await fileText(keyFile), pin: null };
  const own = (await kept(dataDir, hostName, nowMs)) ?? (await made(dataDir, hostName, nowMs));
  return { ...own, pin: certificateSha256(own.certificate) };
}

async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`The relay's file ${path} cannot be read: ${codeOf(error)}`, { cause: error });
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}

/** The one that was made before; null when there is none that still serves: made for another host, or nearly over. */
async function kept(
  dataDir: string,
  hostName: string,
  nowMs: number,
): Promise<{ readonly certificate: string; readonly key: string } | null> {
  try {
    const text = await readFile(join(dataDir, OWN_FILE), 'utf8');
    const at = text.indexOf('-----BEGIN CERTIFICATE-----');
    const [key, certificate] = [text.slice(0, at), text.slice(at)];
    const read = new X509Certificate(certificate);
    const isFor =
      read.subjectAltName === selfSignedName(hostName) &&
      read.checkPrivateKey(createPrivateKey(key)) &&
      Date.parse(read.validTo) - nowMs > LEFT_MS_MIN;
    return isFor ? { certificate, key } : null;
  } catch {
    return null;
  }
}

/**
 * Two that make one at the same time show each its own until they start again. Rejects with a line for the operator.
 */
async function made(
  dataDir: string,
  hostName: string,
  nowMs: number,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const own = selfSigned(hostName, nowMs);
  const file = join(dataDir, OWN_FILE);
  const temporary = `${file}.${randomUUID()}`;
  try {
    await mkdir(dataDir, { recursive: true });
    await writeFile(temporary, `${own.key}${own.certificate}`, { mode: 0o600 });
    await rename(temporary, file);
  } catch (error) {
    throw new Error(
      `The relay's certificate cannot be kept in ${dataDir} (${codeOf(error)}): set DATA_DIR to a directory that it can write`,
      { cause: error },
    );
  }
  return own;
}

/** As Node tells the names of a certificate that was made for this host. */
function selfSignedName(hostName: string): string | undefined {
  return new X509Certificate(selfSigned(hostName, 0).certificate).subjectAltName;
}
