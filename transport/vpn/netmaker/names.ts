/** Names of members as Netmaker keeps them. Pure. */
import { clusterOf } from '../../../actors/vpn/vpn.ts';

/** A label of a host name. Source: RFC 1123. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;

/** How names of one network are written there. */
export interface NetmakerNames {
  /** What to store for a name, so that `<name>.<cluster>.<domain>` leads to its member. */
  stored(name: string): string;
  /** The name in an entry as it is listed; null: it is not ours. */
  named(listed: string): string | null;
  /** What to delete an entry by, as it is listed. */
  deletable(listed: string): string;
}

/**
 * Names of a network of ours. Netmaker may put its own domain behind every name, where it has one: then that much is
 * left out of what is stored, and cut from what is listed. One whose domain is another serves names below both, one
 * behind the other.
 */
export function netmakerNames(network: string, domain: string, serverDomain: string): NetmakerNames {
  const suffix = `.${clusterOf(network) ?? ''}.${domain}`;
  const cut = (name: string): string =>
    serverDomain !== '' && name.endsWith(`.${serverDomain}`) ? name.slice(0, -serverDomain.length - 1) : name;
  const storedSuffix = cut(suffix);
  return {
    stored: (name) => `${name}${storedSuffix}`,
    named(listed) {
      const lower = listed.toLowerCase();
      const raw = cut(lower);
      // Behind the second may stand a domain that Netmaker does not tell of.
      const label = raw.endsWith(storedSuffix)
        ? raw.slice(0, -storedSuffix.length)
        : lower.includes(`${suffix}.`)
          ? lower.slice(0, lower.indexOf(`${suffix}.`))
          : '';
      return LABEL.test(label) ? label : null;
    },
    deletable: (listed) => cut(listed),
  };
}
