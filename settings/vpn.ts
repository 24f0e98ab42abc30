/**
 * Settings of the VPN: who coordinates it, which relays its members know, the admin's gateway and its observer. Those
 * of a relay of this service's own: relay.ts.
 */
import { z } from 'zod';
import type { Settings } from './environment.ts';
import { flag, port, secret, text, url, urls } from './fields.ts';

/** Default UDP port of the gateway: the one that WireGuard's own tools take. */
const ADMIN_WIREGUARD_PORT = 51_820;

/** Default first port of the observer of the VPN: next to the proxies' own, and registered for nothing. */
const ADMIN_OBSERVER_PORT = 43_478;

/** VPN. */
export const VPN_SETTINGS = {
  EDGE_VPN_API_URL: url().optional().meta({
    defaultText: 'none: this service coordinates networks itself',
    description:
      'URL of the API of a Netmaker server that coordinates the networks of clusters instead, such as https://api.netmaker.example.com.',
  }),
  EDGE_VPN_MASTER_KEY: secret()
    .optional()
    .meta({ defaultText: 'none', description: 'Master key of that server. Required with EDGE_VPN_API_URL.' }),
  CORE_DERP_MAP_URLS: urls()
    .optional()
    .meta({ defaultText: 'none', description: 'URLs of one complete relay map, in order; the first usable one wins.' }),
  ADMIN_GATEWAY_ENABLED: flag()
    .default(true)
    .describe(
      'Whether this admin joins the VPN of its clusters, where it may make a network interface: nodes are reached through the VPN then, where that gains something, and without it else.',
    ),
  ADMIN_WIREGUARD_PORT: port()
    .default(ADMIN_WIREGUARD_PORT)
    .describe('UDP port of its interface; 0 takes a free one, and so does a port that somebody has.'),
  ADMIN_WIREGUARD_HOST: text({ max: 45 })
    .refine((address) => z.ipv4().safeParse(address).success || z.ipv6().safeParse(address).success)
    .meta({ expected: 'an IPv4 or IPv6 address' })
    .optional()
    .meta({
      defaultText: 'the addresses of this machine',
      description: 'Address under which the machines reach that port.',
    }),
  ADMIN_OBSERVER_ENABLED: flag()
    .default(true)
    .describe(
      'Whether this admin sees from which addresses and ports the WireGuard of its nodes comes (UDP). Without it, nodes behind different NATs reach each other by relays only.',
    ),
  ADMIN_OBSERVER_HOST: text({ max: 253 })
    .default('::')
    .describe('Address on which that is seen; :: is any, of both families.'),
  ADMIN_OBSERVER_PORT: port()
    .refine((value) => value < 65_535)
    .meta({ expected: 'a whole number from 0 to 65534' })
    .default(ADMIN_OBSERVER_PORT)
    .describe(
      'First of the two UDP ports on which that is seen, the second being the next one; 0 takes free ones. Nodes must be able to send to both, at the host of the URL of ADMIN_URLS that they use.',
    ),
};

/** What no setting of the VPN alone shows to be wrong. */
export function vpnProblems(read: Settings<typeof VPN_SETTINGS>): readonly string[] {
  return read.EDGE_VPN_API_URL === undefined || read.EDGE_VPN_MASTER_KEY !== undefined
    ? []
    : ['EDGE_VPN_MASTER_KEY is not set: with EDGE_VPN_API_URL it should be the master key of that Netmaker server'];
}

/**
 * Settings of what this service does itself where it coordinates networks: with a Netmaker server that does, they would
 * do nothing. Each of them, and whether `false` may be said all the same: it is so then.
 */
const IDLE: Readonly<Record<string, { readonly mayBeOff: boolean }>> = {
  ADMIN_GATEWAY_ENABLED: { mayBeOff: true },
  ADMIN_WIREGUARD_PORT: { mayBeOff: false },
  ADMIN_WIREGUARD_HOST: { mayBeOff: false },
  ADMIN_OBSERVER_ENABLED: { mayBeOff: true },
  ADMIN_OBSERVER_HOST: { mayBeOff: false },
  ADMIN_OBSERVER_PORT: { mayBeOff: false },
  EMBEDDED_RELAY: { mayBeOff: true },
  EMBEDDED_RELAY_HOST: { mayBeOff: false },
  EMBEDDED_RELAY_PORT: { mayBeOff: false },
  EMBEDDED_RELAY_HOSTNAME: { mayBeOff: false },
  EMBEDDED_RELAY_TLS_CERT_FILE: { mayBeOff: false },
  EMBEDDED_RELAY_TLS_KEY_FILE: { mayBeOff: false },
  CORE_DERP_MAP_URLS: { mayBeOff: false },
};

/**
 * What is set and would do nothing, in one line for the operator each. `apiUrl`: of Netmaker; undefined: this service
 * coordinates.
 */
export function netmakerProblems(
  env: Readonly<Record<string, string | undefined>>,
  apiUrl: string | undefined,
): readonly string[] {
  if (apiUrl === undefined) return [];
  return Object.entries(IDLE).flatMap(([name, { mayBeOff }]) => {
    const value = env[name] ?? '';
    return value === '' || (mayBeOff && ['false', '0'].includes(value.trim().toLowerCase()))
      ? []
      : [
          `${name} is set: with EDGE_VPN_API_URL a Netmaker server coordinates the networks, and it would do nothing; it should be unset`,
        ];
  });
}
