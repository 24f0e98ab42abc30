/**
 * Keys, addresses, endpoints and ports of WireGuard in the one form in which they are said: on the wire, in rows and to
 * interfaces. Whatever fits here, an interface takes (R4), of the kernel and of wireguard-go alike; what does not is
 * refused where it comes in, so that it never stops a change at all others.
 */
import { z } from 'zod';
import { wireText } from './text.ts';

/**
 * Peers of one interface here. Half of what wireguard-go takes (device/constants.go, MaxPeers), and above what a
 * setting asks for by default.
 */
export const WIREGUARD_PEERS_MAX = 32_768;

/** Characters of a key: 32 bytes in base64. */
export const WIREGUARD_KEY_CHARACTERS = 44;

/** Highest UDP port, and bits of a port. */
export const UDP_PORT_MAX = 65_535;

/**
 * 42 digits of six bits, one that holds the last four bits before two zeros, and the padding: so that each key has one
 * form.
 */
const KEY = /^[\d+/A-Za-z]{42}[048AEIMQUYcgkosw]=$/u;

/** An address in brackets or plain, and a port without zeros in front. */
const ENDPOINT = /^(?:([\d.]{7,15})|\[([\da-fA-F:.]{2,45})\]):([1-9]\d{0,4})$/u;

/** The base64 form of `wg`, with no other form of the same bytes. */
export const WireguardKey = wireText()
  .length(WIREGUARD_KEY_CHARACTERS)
  .regex(KEY, 'must be a WireGuard key: 32 bytes in base64');

/** A UDP port that somebody can be sent to. */
export const UdpPort = z.int().min(1).max(UDP_PORT_MAX);

/** Address of a member in its VPN, IPv4. */
export const HostIpv4 = z.ipv4();

/**
 * The same of IPv6, as RFC 5952 writes it: what an interface is told and what it says of itself are compared as text.
 */
export const HostIpv6 = z.ipv6().refine(isShortIpv6, 'must be an IPv6 address in its short form');

/** Addresses of a network, IPv4, with their prefix length. */
export const RangeIpv4 = z.cidrv4();

/** The same of IPv6. */
export const RangeIpv6 = z
  .cidrv6()
  .refine((range) => isShortIpv6(range.split('/')[0] ?? ''), 'must be an IPv6 range in its short form');

/**
 * Address and port where somebody may be reached: `198.51.100.7:51820` or `[2001:db8::7]:51820`. Never a name, which
 * would have to be asked of a server, and no zone.
 */
export const WireguardEndpoint = wireText()
  .max(64)
  .refine(isEndpoint, 'must be an address and a port, such as 198.51.100.7:51820');

/** Whether this is a key in the one base64 form that it has. */
export function isWireguardKey(text: string): boolean {
  return KEY.test(text);
}

/** Whether this is a WireguardEndpoint. */
export function isEndpoint(text: string): boolean {
  const [, ipv4, ipv6 = '', port] = ENDPOINT.exec(text) ?? [];
  return (
    Number(port) <= UDP_PORT_MAX && (ipv4 === undefined ? z.ipv6().safeParse(ipv6) : HostIpv4.safeParse(ipv4)).success
  );
}

/** Whether this is an address with its prefix length, such as `198.51.100.7/32` or `2001:db8::7/128`. */
export function isRange(text: string): boolean {
  return (text.includes(':') ? RangeIpv6 : RangeIpv4).safeParse(text).success;
}

/** Whether this is how RFC 5952 writes it, by the URL parser's own normal form. */
function isShortIpv6(address: string): boolean {
  const url = `http://[${address}]/`;
  return URL.canParse(url) && new URL(url).hostname === `[${address}]`;
}
