/**
 * Settings of what this service does itself where it coordinates the networks of clusters: with a Netmaker server that
 * does, they would do nothing.
 */

/** Each of them, and whether `false` may be said all the same: it is so then. */
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
