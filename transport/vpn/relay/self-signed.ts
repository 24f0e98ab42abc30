/**
 * A self-signed certificate, for a relay that is known by its SHA-256 and needs no authority: X.509 version 3 (RFC
 * 5280) in DER, ECDSA with P-256. See docs/decisions/relay-certificates.md.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** For so long it is valid, in days; a relay that is started when it is nearly over makes another. */
const VALID_DAYS = 3_650;

/** Begins so much before now, in ms: clocks of machines differ. */
const SKEW_MS = 86_400_000;

const DAY_MS = 86_400_000;

/** Object identifiers, encoded. Source: RFC 5758 (ecdsa-with-SHA256), RFC 5280 (the others). */
const ECDSA_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex');
const COMMON_NAME = Buffer.from('0603550403', 'hex');
const BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex');
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex');
const EXT_KEY_USAGE_SERVER = Buffer.from('0603551d25', 'hex');
const SERVER_AUTH = Buffer.from('06082b06010505070301', 'hex');

const SEQUENCE = 0x30;
const SET = 0x31;

/** A certificate and its key, PEM. */
export interface KeyAndCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** Makes one for a host: a name or an address. */
export function selfSigned(host: string, nowMs: number): KeyAndCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(0x0c, Buffer.from(host.slice(0, 64))))));
  const algorithm = der(SEQUENCE, ECDSA_SHA256);
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40; // positive, and without a zero before it
  const content = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, serial),
    algorithm,
    name,
    der(SEQUENCE, time(nowMs - SKEW_MS), time(nowMs + VALID_DAYS * DAY_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(
      0xa3,
      der(
        SEQUENCE,
        extension(BASIC_CONSTRAINTS, true, der(SEQUENCE)),
        extension(EXT_KEY_USAGE_SERVER, false, der(SEQUENCE, SERVER_AUTH)),
        extension(
          SUBJECT_ALT_NAME,
          false,
          der(
            SEQUENCE,
            isIP(host) === 0
              ? der(0x82, Buffer.from(host))
              : der(0x87, Uint8Array.from(ipaddr.parse(host).toByteArray())),
          ),
        ),
      ),
    ),
  );
  const certificate = der(
    SEQUENCE,
    content,
    algorithm,
    der(0x03, Buffer.from([0]), sign('sha256', content, privateKey)),
  );
  return {
    certificate: new X509Certificate(certificate).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** SHA-256 of a certificate as a whole (PEM; the first of several), hex: what a relay map pins. */
export function certificateSha256(certificate: string): string {
  return createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex');
}

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content]);
  const length = Buffer.from(content.length.toString(16).padStart(content.length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, content]);
}

function extension(id: Uint8Array, isCritical: boolean, value: Uint8Array): Buffer {
  return der(SEQUENCE, id, ...(isCritical ? [Buffer.from([0x01, 0x01, 0xff])] : []), der(0x04, value));
}

/** UTCTime until 2049, GeneralizedTime after. Source: RFC 5280, 4.1.2.5. */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d{3}/gu, '');
  return digits < '2050' ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}
