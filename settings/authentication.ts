/** Keys of an admin's callers, which surfaces ask for one, and at which addresses they may be left open. */
import { isLoopbackHost } from '../transport/net/addresses.ts';
import { bearerKey, callersKey, flag, integer } from './fields.ts';

const keyFor = (what: string) =>
  callersKey()
    .optional()
    .meta({ defaultText: 'MASTER_KEY', description: `Bearer key of ${what}.` });

/** The value of another key before, which may be one that is changed because others guess it. */
const formerKey = (name: string) =>
  bearerKey()
    .optional()
    .meta({
      defaultText: 'none',
      description: `Former ${name}, while it is rotated: whoever shows it is let in as with the new one.`,
    });

const enforcement = (what: string) =>
  flag()
    .optional()
    .meta({ defaultText: 'ALL_AUTH_ENABLED', description: `Whether ${what} demands a key.` });

/** The settings of keys and enforcement. */
export const AUTHENTICATION_SETTINGS = {
  MASTER_KEY: callersKey()
    .optional()
    .meta({ defaultText: 'made once, in DATA_DIR', description: 'Key with full access. Required with DATABASE_URL.' }),
  API_KEY: keyFor('REST and tRPC'),
  METRICS_KEY: keyFor('the metrics routes, read-only'),
  PROXY_KEY: keyFor('the proxies'),
  MCP_KEY: keyFor('MCP'),
  MASTER_KEY_OLD: formerKey('MASTER_KEY'),
  API_KEY_OLD: formerKey('API_KEY'),
  METRICS_KEY_OLD: formerKey('METRICS_KEY'),
  PROXY_KEY_OLD: formerKey('PROXY_KEY'),
  MCP_KEY_OLD: formerKey('MCP_KEY'),
  ALL_AUTH_ENABLED: flag()
    .default(true)
    .describe('Whether callers must show a key, where nothing more particular is set.'),
  API_AUTH_ENABLED: enforcement('the API'),
  METRICS_AUTH_ENABLED: enforcement('reading metrics'),
  PROXY_AUTH_ENABLED: enforcement('a proxy'),
  MCP_AUTH_ENABLED: enforcement('MCP'),
  ALLOW_UNAUTHENTICATED_REMOTE_ACCESS: flag()
    .default(false)
    .describe(
      'Whether keys may be switched off also where other machines connect: at an address that is not loopback. Whoever reaches it then runs commands on every node.',
    ),
  AUTH_FAILURES_PER_MINUTE_MAX: integer({ min: 1, max: 100_000 })
    .default(30)
    .describe('Wrong keys that one address may show in a minute before it gets 429.'),
};

/** A key that was made for an admin which was given none, and the file that holds it. */
export interface MadeKey {
  readonly file: string;
  readonly key: string;
}

/**
 * Why there is no MASTER_KEY, in one line; null: there is one, or one can be made. With DATABASE_URL none is made:
 * admins that share a database are opened by the same keys, and each would make its own.
 */
export function masterKeyProblem(
  read: { readonly MASTER_KEY?: string | undefined; readonly DATABASE_URL?: string | undefined },
  canMake: boolean,
): string | null {
  if (read.MASTER_KEY !== undefined || (canMake && read.DATABASE_URL === undefined)) return null;
  const place = read.DATABASE_URL === undefined ? '' : 'with DATABASE_URL ';
  const sameness = read.DATABASE_URL === undefined ? '' : ', the same for all admins';
  return `MASTER_KEY is not set: ${place}it should be 16 to 512 letters, digits and signs without spaces${sameness}, as made by: openssl rand -hex 32`;
}

/** Why that key cannot be used, in one line; null: it can. Its file may be somebody else's work by now. */
export function madeKeyProblem({ file, key }: MadeKey): string | null {
  return callersKey().safeParse(key).success
    ? null
    : `${file} holds no key that can be MASTER_KEY: remove that file, and the next start makes another one, or set MASTER_KEY`;
}

/** Former keys, of which each may be set. */
export interface FormerKeys {
  readonly MASTER_KEY_OLD?: string | undefined;
  readonly API_KEY_OLD?: string | undefined;
  readonly METRICS_KEY_OLD?: string | undefined;
  readonly PROXY_KEY_OLD?: string | undefined;
  readonly MCP_KEY_OLD?: string | undefined;
}

/** The former keys that are set, as whose they let in. */
export function formerKeys(read: FormerKeys) {
  return [
    { principal: 'master' as const, key: read.MASTER_KEY_OLD },
    { principal: 'api' as const, key: read.API_KEY_OLD },
    { principal: 'metrics' as const, key: read.METRICS_KEY_OLD },
    { principal: 'proxy' as const, key: read.PROXY_KEY_OLD },
    { principal: 'mcp' as const, key: read.MCP_KEY_OLD },
  ].flatMap(({ principal, key }) => (key === undefined ? [] : [{ principal, key }]));
}

/** One line for each former key that is the present one. */
export function formerKeyProblems(
  read: Readonly<
    Record<keyof FormerKeys | 'MASTER_KEY' | 'API_KEY' | 'METRICS_KEY' | 'PROXY_KEY' | 'MCP_KEY', string | undefined>
  >,
): string[] {
  return (['MASTER_KEY', 'API_KEY', 'METRICS_KEY', 'PROXY_KEY', 'MCP_KEY'] as const).flatMap((name) =>
    read[`${name}_OLD`] !== undefined && read[`${name}_OLD`] === read[name]
      ? [`${name}_OLD is ${name} itself: it should be the key of before, or unset`]
      : [],
  );
}

/** What decides whether a surface is open. */
export interface Openness {
  readonly ALL_AUTH_ENABLED: boolean;
  readonly API_AUTH_ENABLED?: boolean | undefined;
  readonly METRICS_AUTH_ENABLED?: boolean | undefined;
  readonly PROXY_AUTH_ENABLED?: boolean | undefined;
  readonly MCP_AUTH_ENABLED?: boolean | undefined;
  readonly ADMIN_PROXY_ENABLED: boolean;
  readonly ADMIN_DEBUG_DASHBOARD_ENABLED: boolean;
  readonly ADMIN_DEBUG_AUTH_ENABLED: boolean;
  readonly ADMIN_API_HOST: string;
  readonly ADMIN_PROXY_HOST: string;
}

/** A surface that asks for no key. */
export interface OpenSurface {
  /** What it is, in words. */
  readonly what: string;
  /** The setting that closes it. */
  readonly setting: string;
  /** The setting of its address, and that. */
  readonly hostSetting: 'ADMIN_API_HOST' | 'ADMIN_PROXY_HOST';
  readonly host: string;
}

/** Everything that asks for no key. */
export function openSurfaces(read: Openness): readonly OpenSurface[] {
  const api = { hostSetting: 'ADMIN_API_HOST', host: read.ADMIN_API_HOST } as const;
  const proxy = { hostSetting: 'ADMIN_PROXY_HOST', host: read.ADMIN_PROXY_HOST } as const;
  const isOpen = (flag: boolean | undefined): boolean => !(flag ?? read.ALL_AUTH_ENABLED);
  return [
    ...(isOpen(read.API_AUTH_ENABLED) ? [{ what: 'the API', setting: 'API_AUTH_ENABLED', ...api }] : []),
    ...(isOpen(read.METRICS_AUTH_ENABLED) ? [{ what: 'the metrics', setting: 'METRICS_AUTH_ENABLED', ...api }] : []),
    ...(isOpen(read.MCP_AUTH_ENABLED) ? [{ what: 'MCP', setting: 'MCP_AUTH_ENABLED', ...api }] : []),
    ...(isOpen(read.PROXY_AUTH_ENABLED) && read.ADMIN_PROXY_ENABLED
      ? [{ what: 'the proxies', setting: 'PROXY_AUTH_ENABLED', ...proxy }]
      : []),
    ...(read.ADMIN_DEBUG_DASHBOARD_ENABLED && !read.ADMIN_DEBUG_AUTH_ENABLED
      ? [{ what: 'the debug dashboard', setting: 'ADMIN_DEBUG_AUTH_ENABLED', ...api }]
      : []),
  ];
}

/** One line for each address beyond loopback at which something is open without a second setting that says so. */
export function opennessProblems(read: Openness & { readonly ALLOW_UNAUTHENTICATED_REMOTE_ACCESS: boolean }): string[] {
  if (read.ALLOW_UNAUTHENTICATED_REMOTE_ACCESS) return [];
  const reached = openSurfaces(read).filter(({ host }) => !isLoopbackHost(host));
  return (['ADMIN_API_HOST', 'ADMIN_PROXY_HOST'] as const).flatMap((name) => {
    const open = reached.filter(({ hostSetting }) => hostSetting === name);
    const [first] = open;
    if (first === undefined) return [];
    return [
      `${name} is "${first.host}", where other machines connect, and ${open.map(({ setting }) => setting).join(', ')} ${open.length === 1 ? 'is' : 'are'} false: it should be 127.0.0.1, or ALLOW_UNAUTHENTICATED_REMOTE_ACCESS should be true`,
    ];
  });
}
