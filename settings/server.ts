/** Settings of the admin's HTTP server. */
import { z } from 'zod';
import type { Settings } from './environment.ts';
import { choice, durationMs, flag, integer, list, port, text, url, urls } from './fields.ts';
import { DOMAIN } from './names.ts';
import type { Read } from './pem-files.ts';
import { serverCertificate, type ServerCertificate } from './server-certificate.ts';

/** Default port of the admin's API. Source: docs/settings.md. */
const ADMIN_API_PORT = 44_000;

/** Most further names of an admin. */
const HOSTS_MAX = 32;

const pemFile = (what: string) =>
  text({ max: 4_096 })
    .optional()
    .meta({ defaultText: 'none: plain HTTP', description: `PEM file of ${what}` });

/** Most addresses and ranges of proxies. */
const PROXIES_MAX = 64;

/** A range of all addresses would believe whoever writes the header. */
function isAddressOrRange(text: string): boolean {
  const range = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  return (z.cidrv4().safeParse(range).success || z.cidrv6().safeParse(range).success) && !range.endsWith('/0');
}

/** Where it listens, under which names, and what it serves. */
export const SERVER_SETTINGS = {
  ADMIN_API_HOST: text({ max: 253 })
    .default('0.0.0.0')
    .describe('Address to listen on. `localhost` is 127.0.0.1, and ::1 where the machine has it.'),
  ADMIN_API_PORT: port().default(ADMIN_API_PORT).describe('Port to listen on; 0 takes a free one.'),
  ADMIN_TLS_CERT_FILE: pemFile(
    "this admin's certificate and those that vouch for it. With it, all that comes to ADMIN_API_PORT comes by HTTPS; what replaces the file is taken up within 15 s, and cuts no connection (docs/tls.md).",
  ),
  ADMIN_TLS_KEY_FILE: pemFile('the key of that certificate, which must not be encrypted.'),
  ADMIN_URLS: urls().optional().meta({
    defaultText: 'http://HOST_NAME:PORT, https:// with ADMIN_TLS_CERT_FILE',
    description:
      'URLs of this admin and its peers, in order, that agents may use. They must be reachable from the machines.',
  }),
  ADMIN_OWN_URL: url().optional().meta({
    defaultText: 'the first of ADMIN_URLS',
    description:
      'URL of this admin itself, to which agents are sent whose cluster it owns. To be set at each of several admins that have the same ADMIN_URLS, or stand behind a balancer: two that have one URL do not run together.',
  }),
  ADMIN_PEER_URL: url().optional().meta({
    defaultText: 'ADMIN_OWN_URL',
    description:
      'URL by which other admins reach this one and nobody else, such as one of an inner network. What they say to each other is proven and sealed by ENCRYPTION_KEY, also over http.',
  }),
  ADMIN_ALLOWED_HOSTS: list()
    .transform((names) => names.map((name) => name.toLowerCase()))
    .refine((names) => names.length <= HOSTS_MAX && names.every((name) => name.length <= 253 && DOMAIN.test(name)))
    .meta({ expected: `a comma-separated list of at most ${HOSTS_MAX} host names` })
    .optional()
    .meta({
      defaultText: 'none',
      description:
        'Host names of this admin besides those of its URLs, such as that of a service in front of it: where no key is asked for it answers to no others, and web pages of these may call it.',
    }),
  TRUSTED_PROXIES: list()
    .refine((ranges) => ranges.length <= PROXIES_MAX && ranges.every(isAddressOrRange))
    .meta({
      expected: `a comma-separated list of at most ${PROXIES_MAX} addresses and ranges such as 10.0.0.5, 10.1.0.0/16 and 2001:db8::/64, none of them of all addresses`,
    })
    .optional()
    .meta({
      defaultText: 'none',
      description:
        'Addresses of the proxies and balancers before this admin. Of what comes from them, X-Forwarded-For says whose it is: wrong keys and shares are counted by that address. From anybody else that header means nothing.',
    }),
  API_DOCS_ENABLED: flag().default(true).describe('Whether the documentation routes are served.'),
  MAX_BODY_BYTES: integer({ min: 1_024, max: 16_777_216 })
    .default(1_048_576)
    .describe('Largest request body, in bytes; above it 413.'),
  METRICS_SCRAPE_TIMEOUT_MS: durationMs({ min: 100, max: 60_000 })
    .default(5_000)
    .describe('How long a node may take to answer with its metrics, in ms.'),
  METRICS_BASE_URL: url()
    .optional()
    .meta({ defaultText: 'the first of ADMIN_URLS', description: 'URL under which Prometheus reaches this admin.' }),
  LOG_LEVEL: choice(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least severity that is logged.'),
};

/** The settings of one certificate. */
type CertificateSettings = Pick<Settings<typeof SERVER_SETTINGS>, 'ADMIN_TLS_CERT_FILE' | 'ADMIN_TLS_KEY_FILE'>;

/** A certificate in files. */
export interface CertificateSource {
  /** Paths of the files. */
  readonly files: readonly string[];
  /** Reads them anew; a problem is one line. `nowMs`: Unix time. */
  readonly read: (nowMs: number) => Read<ServerCertificate>;
}

/** Where the certificate is that this admin shows; null: it serves plain HTTP. */
export function certificateSource({
  ADMIN_TLS_CERT_FILE: certificate,
  ADMIN_TLS_KEY_FILE: key,
}: CertificateSettings): CertificateSource | null {
  if (certificate === undefined || key === undefined) return null;
  const files = [
    { setting: 'ADMIN_TLS_CERT_FILE', path: certificate },
    { setting: 'ADMIN_TLS_KEY_FILE', path: key },
  ] as const;
  return { files: [certificate, key], read: (nowMs) => serverCertificate(...files, nowMs) };
}

/** What no setting of the server alone shows to be wrong. */
export function serverProblems(
  read: Pick<Settings<typeof SERVER_SETTINGS>, 'ADMIN_URLS' | 'ADMIN_OWN_URL'> & CertificateSettings,
  nowMs: number,
): readonly string[] {
  const { ADMIN_URLS = [], ADMIN_OWN_URL = '' } = read;
  return [
    ...certificateProblems(read, nowMs),
    // An agent takes its token from an encrypted connection to another encrypted one only.
    ...(ADMIN_OWN_URL.startsWith('http:') && ADMIN_URLS.some((url) => url.startsWith('https:'))
      ? [
          `ADMIN_OWN_URL is "${ADMIN_OWN_URL}": it should start with https:// as ADMIN_URLS do, since agents that came by https are not sent to http`,
        ]
      : []),
  ];
}

function certificateProblems(read: CertificateSettings, nowMs: number): readonly string[] {
  if ((read.ADMIN_TLS_CERT_FILE === undefined) !== (read.ADMIN_TLS_KEY_FILE === undefined))
    return ['ADMIN_TLS_CERT_FILE and ADMIN_TLS_KEY_FILE should both be set, or neither'];
  const found = certificateSource(read)?.read(nowMs);
  return found === undefined || found.ok ? [] : [found.problem];
}
