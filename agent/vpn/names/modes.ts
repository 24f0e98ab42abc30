/** How names of the cluster become names of this machine. */

/** VPN_DNS: a resolver of our own, or the hosts file where nothing leads to a resolver; the hosts file; nothing. */
export const NAME_MODES = ['resolver', 'hosts', 'off'] as const;
export type NameMode = (typeof NAME_MODES)[number];
