/** What the Helm chart takes as settings of the admin: the names in its schema come from the code. */
import { ADMIN_SETTINGS } from '../../settings/admin.ts';
import { settingNames } from '../../settings/environment.ts';

/** The schema of the chart's values, from the root of the repository. */
export const CHART_SCHEMA_FILE = 'deploy/chart/values.schema.json';

/**
 * Settings that other values of the chart decide, or for which a pod has no place: it has no interface in a VPN, and
 * neither UDP nor the relay inside an admin come by an ingress.
 */
const DECIDED =
  /^(?:ADMIN_(?:NAME|URLS|OWN_URL|PEER_URL|TLS_\w+|(?:API|HTTP_PROXY|SOCKS5_PROXY)_PORT|PROXY_ENABLED|GATEWAY_\w+|WIREGUARD_\w+|OBSERVER_\w+)|METRICS_BASE_URL|TRUSTED_PROXIES|EMBEDDED_RELAY\w*|DATA_DIR)$/u;

/** The names that `settings` of the chart takes, and those of its `secrets`. */
function chartSettings(): { readonly plain: readonly string[]; readonly secret: readonly string[] } {
  const files = new Set(settingNames(ADMIN_SETTINGS).filter((name) => name.endsWith('_FILE')));
  const names = Object.keys(ADMIN_SETTINGS).toSorted();
  const isSecret = (name: string): boolean => files.has(`${name}_FILE`);
  return { plain: names.filter((name) => !isSecret(name) && !DECIDED.test(name)), secret: names.filter(isSecret) };
}

/** The schema with the names as the code has them now. */
export function chartSchema(text: string): string {
  const schema = JSON.parse(text) as { definitions: Record<'settings' | 'secrets', { properties: object }> };
  const { plain, secret } = chartSettings();
  const { settings, secrets } = schema.definitions;
  settings.properties = Object.fromEntries(plain.map((name) => [name, { type: ['string', 'boolean', 'integer'] }]));
  secrets.properties = Object.fromEntries(secret.map((name) => [name, { type: 'string' }]));
  return `${JSON.stringify(schema, null, 2)}\n`;
}
