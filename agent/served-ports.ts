/** The ports on which an agent serves: their settings, and what they are unless somebody sets them. */

/** Settings of ports. */
export const PORT_SETTINGS = [
  'AGENT_API_PORT',
  'AGENT_SSH_PORT',
  'AGENT_HOST_METRICS_PORT',
  'AGENT_WIREGUARD_METRICS_PORT',
  'AGENT_HTTP_PROXY_PORT',
  'AGENT_SOCKS5_PROXY_PORT',
] as const;

/** One of them. */
export type PortSetting = (typeof PORT_SETTINGS)[number];

/** Where a server listens unless its port is set, or another program has it. Source: docs/settings.md. */
export const DEFAULT_PORTS: Readonly<Record<PortSetting, number>> = {
  AGENT_API_PORT: 44_000,
  AGENT_SSH_PORT: 40_022,
  AGENT_HOST_METRICS_PORT: 49_100,
  AGENT_WIREGUARD_METRICS_PORT: 49_586,
  AGENT_HTTP_PROXY_PORT: 43_128,
  AGENT_SOCKS5_PROXY_PORT: 41_080,
};
