/** The ways to an admin: its URLs, and through the VPN. */
import { TUNNEL_OPEN_MS_MAX } from '../../../transport/protocol/limits.ts';
import { TUNNEL_PATH } from '../../../transport/protocol/version.ts';

/** An admin that does not answer through the VPN within this is dialled at its usual URL, in ms. */
export const VPN_DIAL_MS_MAX = 2_000;

/**
 * One that does not answer at a URL within this is dialled at the next one that it may have, in ms: what is left of
 * TUNNEL_OPEN_MS_MAX after it, and after the VPN, is for that.
 */
export const URL_DIAL_MS_MAX = 3_000;

/**
 * The way to the admin through the VPN: the gateway of this machine's own VPN, and this machine's own address
 * there. IPv4.
 */
export interface VpnWay {
  readonly gateway: string;
  readonly own: string;
}

/** Where an admin is dialled: at a URL, through the VPN from this machine's own address there. Null: not through it. */
export interface Way {
  /** The URL by which the log names it. */
  readonly admin: string;
  readonly url: string;
  readonly own: string | null;
  readonly msMax: number;
  /** It let nothing through without a WebSocket. */
  readonly isTried?: boolean;
}

/** In the order in which they are tried: through the VPN first, where the admin says that it is there. */
export function waysTo(
  adminUrls: readonly string[],
  vpnUrl: string | undefined,
  vpnWay: VpnWay | null,
): readonly Way[] {
  const last = adminUrls.length - 1;
  const ways = adminUrls.map((url, place): Way => ({
    admin: url,
    url,
    own: null,
    msMax: place < last ? URL_DIAL_MS_MAX : TUNNEL_OPEN_MS_MAX,
  }));
  const inVpn = vpnUrl === undefined ? null : trusted(vpnUrl, vpnWay, adminUrls[0] ?? vpnUrl);
  return inVpn === null ? ways : [inVpn, ...ways];
}

/**
 * What is dialled through the VPN: plain HTTP at the gateway of this machine's own VPN, from its own address
 * there, so that the token can go nowhere else, also when the VPN is away. Null: the URL leads elsewhere, or there
 * is no such way.
 */
function trusted(vpnUrl: string, way: VpnWay | null, admin: string): Way | null {
  const port = /^http:\/\/([\d.]+):(\d{1,5})\/?$/u.exec(vpnUrl);
  return way === null || port?.[1] !== way.gateway
    ? null
    : { admin, url: `http://${way.gateway}:${port[2]}`, own: way.own, msMax: VPN_DIAL_MS_MAX };
}

/** The tunnel's address on an admin: a path of the admin's own is kept. */
export function tunnelUrl(adminUrl: string): string {
  const url = new URL(adminUrl);
  url.pathname = url.pathname.replace(/\/+$/, '') + TUNNEL_PATH;
  return url.href;
}
