/**
 * What an interface may be asked. It comes from far away, and becomes lines of a socket and words of commands: so every
 * field is looked at.
 */
import { isEndpoint, isRange, isWireguardKey, UDP_PORT_MAX } from '../../protocol/wireguard.ts';
import type { DeviceOptions, DevicePeer } from './device.ts';
import { MTU_BOUNDS, NAME_CHARACTERS_MAX } from './limits.ts';
import type { DeviceLimits } from './limits.ts';
import { DeviceProblem } from './problem.ts';

/**
 * It becomes a path and a word of commands. Source: wg(8), as the kernel has it; a minus in front would be an option.
 */
const NAME = new RegExp(String.raw`^(?!\.{1,2}$)[\w=+.][\w=+.-]{0,${NAME_CHARACTERS_MAX - 1}}$`, 'u');

/** Of the seconds between keepalives: 16 bits. */
const KEEPALIVE_SECONDS_MAX = 65_535;

/** Throws a `DeviceProblem` that says what is wrong, without the value. */
export function checkName(name: string): void {
  if (!NAME.test(name))
    throw new DeviceProblem(
      `the name of an interface has 1 to ${NAME_CHARACTERS_MAX} letters, digits, or characters of _ = + . -`,
    );
}

/** Throws a `DeviceProblem` that says what is wrong, without the value. */
export function checkOptions({ name, privateKey, listenPort, mtu }: DeviceOptions): void {
  checkName(name);
  if (!isWireguardKey(privateKey))
    throw new DeviceProblem('the private key of the interface is none: 32 bytes in base64');
  if (!isPort(listenPort)) throw new DeviceProblem(`the UDP port of the interface lies between 1 and ${UDP_PORT_MAX}`);
  checkMtu(mtu);
}

/** Throws a `DeviceProblem` that says what is wrong. */
export function checkMtu(mtu: number): void {
  if (!Number.isInteger(mtu) || mtu < MTU_BOUNDS.min || mtu > MTU_BOUNDS.max)
    throw new DeviceProblem(`the MTU of an interface lies between ${MTU_BOUNDS.min} and ${MTU_BOUNDS.max}`);
}

/** Throws a `DeviceProblem` that says what is wrong, without the value. */
export function checkPeer(
  { publicKey, allowedIps, endpoint, keepaliveSeconds }: DevicePeer,
  { allowedIpsMax }: DeviceLimits,
): void {
  checkPublicKey(publicKey);
  if (allowedIps.length > allowedIpsMax) throw new DeviceProblem(`a peer has at most ${allowedIpsMax} ranges`);
  if (!allowedIps.every(isRange))
    throw new DeviceProblem('a range of a peer is none: it needs the form 192.0.2.1/32 or 2001:db8::1/128');
  if (endpoint !== null) checkEndpoint(endpoint);
  if (!Number.isInteger(keepaliveSeconds) || keepaliveSeconds < 0 || keepaliveSeconds > KEEPALIVE_SECONDS_MAX)
    throw new DeviceProblem(`the seconds between keepalives lie between 0 and ${KEEPALIVE_SECONDS_MAX}`);
}

/** Throws a `DeviceProblem` that says what is wrong, without the value. */
export function checkPublicKey(publicKey: string): void {
  if (!isWireguardKey(publicKey)) throw new DeviceProblem('the public key of a peer is none: 32 bytes in base64');
}

/**
 * Throws a `DeviceProblem` that says what is wrong, without the value. Names are none: they would be asked of a server.
 */
export function checkEndpoint(endpoint: string): void {
  if (!isEndpoint(endpoint))
    throw new DeviceProblem('the endpoint of a peer is none: it needs the form 192.0.2.1:51820 or [2001:db8::1]:51820');
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port > 0 && port <= UDP_PORT_MAX;
}
