/** Settings of relays: of the one inside an admin, and of one that stands alone. */
import type { Settings } from './environment.ts';
import { choice, flag, integer, port, text, url } from './fields.ts';
import { clientCertificateProblem } from './pem-files.ts';

/** Default port of a relay inside an admin: next to the admin's own, as 443 is often somebody else's there. */
const EMBEDDED_RELAY_PORT = 44_443;

/** Default port of a relay that stands alone: firewalls let it pass. Source: the protocol. */
const RELAY_PORT = 443;

/** Regions that the protocol leaves to operators. Source: tailcfg.DERPRegion. */
const REGION_MIN = 900;
const REGION_MAX = 999;

const host = () =>
  text({ max: 253, pattern: /^(?:[\w.-]+|\[?[\da-f:.]+\]?)$/iu, expected: 'a host name or an address' });

const pemFile = (what: string) =>
  text({ max: 4_096 })
    .optional()
    .meta({ defaultText: 'a certificate made once, in DATA_DIR', description: `PEM file of ${what}.` });

/** Of the relay inside an admin. */
export const EMBEDDED_RELAY_SETTINGS = {
  EMBEDDED_RELAY: flag()
    .default(false)
    .describe(
      'Whether this admin runs a relay for nodes that do not reach each other directly. Agents are told of it when CORE_DERP_MAP_URLS is empty.',
    ),
  EMBEDDED_RELAY_HOST: text({ max: 253 }).default('0.0.0.0').describe('Address on which the relay listens.'),
  EMBEDDED_RELAY_PORT: port()
    .default(EMBEDDED_RELAY_PORT)
    .describe('Port of the relay (TCP, TLS); 0 takes a free one.'),
  EMBEDDED_RELAY_HOSTNAME: host().optional().meta({
    defaultText: "the host of this admin's URL",
    description: 'Name or address under which the machines reach the relay.',
  }),
  EMBEDDED_RELAY_TLS_CERT_FILE: pemFile("the relay's certificate and those that vouch for it"),
  EMBEDDED_RELAY_TLS_KEY_FILE: pemFile('the key of that certificate'),
} as const;

/** Of a relay that stands alone, `edge-admin relay`. */
export const RELAY_SETTINGS = {
  RELAY_HOSTNAME: host().describe('Name or address under which the machines reach this relay.'),
  RELAY_ADMISSION_URL: url().describe(
    "Who is asked whether a key may enter: an admin's URL with /api/v1/relays/admission.",
  ),
  RELAY_HOST: text({ max: 253 }).default('0.0.0.0').describe('Address to listen on.'),
  RELAY_PORT: port().default(RELAY_PORT).describe('Port to listen on (TCP, TLS); 0 takes a free one.'),
  RELAY_TLS_CERT_FILE: pemFile('the certificate and those that vouch for it'),
  RELAY_TLS_KEY_FILE: pemFile('the key of that certificate'),
  RELAY_REGION_ID: integer({ min: REGION_MIN, max: REGION_MAX })
    .default(REGION_MIN)
    .describe('Number of its region in the relay map; another one for each region.'),
  RELAY_REGION_CODE: text({
    max: 32,
    pattern: /^[\w-]+$/u,
    expected: 'at most 32 letters, digits, hyphens and underscores',
  })
    .default('own')
    .describe('Name of its region.'),
  DATA_DIR: text().default('.data').describe('Directory of the certificate that it makes.'),
  LOG_LEVEL: choice(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least severity that is logged.'),
} as const;

/** What a relay that stands alone is set to. */
export type RelayConfig = Settings<typeof RELAY_SETTINGS>;

/** What no setting of certificates alone shows to be wrong, in lines for the operator. */
export function certificateFilesProblems(
  prefix: 'RELAY' | 'EMBEDDED_RELAY',
  certificateFile: string | undefined,
  keyFile: string | undefined,
): readonly string[] {
  const [certificate, key] = [`${prefix}_TLS_CERT_FILE`, `${prefix}_TLS_KEY_FILE`];
  if ((certificateFile === undefined) !== (keyFile === undefined))
    return [`${certificate} and ${key} should both be set, or neither`];
  if (certificateFile === undefined || keyFile === undefined) return [];
  const problem = clientCertificateProblem(
    { setting: certificate, path: certificateFile },
    { setting: key, path: keyFile },
  );
  return problem === null ? [] : [problem];
}
