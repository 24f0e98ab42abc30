/**
 * Which addresses may be dialled (R2): what each class is to the guard, and what an operator opened or closed. Pure.
 */
import { addressClass, isMetadataAddress, type AddressClass } from '../addresses.ts';

/**
 * What an address is: `public` may always be reached, `private` and `loopback` only where these are open, `reserved`
 * (link-local, or set aside by the registries) only where the operator names it, `forbidden` (metadata services, forms
 * that carry an IPv4 address, multicast, text that is no address) not even with a range or a name that holds it.
 */
export type AddressKind = 'public' | 'private' | 'loopback' | 'reserved' | 'forbidden';

/**
 * What an operator said about one host: never; or also against the rules, as far as it is not forbidden; or, which can
 * be said of a single address only, in any case.
 */
export type Ruling = 'blocked' | 'opened' | 'opened in any case';

/** What is opened beyond public addresses, and what is closed. */
export interface AddressPolicy {
  /** RFC 1918, unique-local and carrier-grade NAT addresses too. */
  readonly allowPrivate: boolean;
  /** This machine itself too; as `allowPrivate` unless given. */
  readonly allowLoopback?: boolean;
  /**
   * What the operator said about a host, a name in lower case without a last dot or an address. It comes before the
   * rules; undefined leaves it to them.
   */
  readonly rulingOn?: (host: string) => Ruling | undefined;
}

/** Kinds by class. Exhaustive. */
const KINDS: Readonly<Record<AddressClass, AddressKind>> = {
  global: 'public',
  private: 'private',
  loopback: 'loopback',
  'link-local': 'reserved',
  reserved: 'reserved',
  future: 'reserved',
  multicast: 'forbidden',
  broadcast: 'forbidden',
  unspecified: 'forbidden',
  special: 'forbidden',
  unassigned: 'forbidden',
  none: 'forbidden',
};

/**
 * What an address, written as a resolver writes it, is to somebody who dials. Also an IPv6 address that carries
 * a public IPv4 one is forbidden.
 */
export function addressKind(address: string): AddressKind {
  return isMetadataAddress(address) ? 'forbidden' : KINDS[addressClass(address)];
}

/**
 * Whether an address may be reached under the policy. `isNameOpened`: the operator opened the name that it was found
 * under.
 */
export function isAllowedAddress(address: string, policy: AddressPolicy, isNameOpened = false): boolean {
  const ruling = policy.rulingOn?.(address);
  if (ruling === 'blocked' || ruling === 'opened in any case') return ruling !== 'blocked';
  const isOpened = isNameOpened || ruling === 'opened';
  const isAllowed: Readonly<Record<AddressKind, boolean>> = {
    public: true,
    private: isOpened || policy.allowPrivate,
    loopback: isOpened || (policy.allowLoopback ?? policy.allowPrivate),
    reserved: isOpened,
    forbidden: false,
  };
  return isAllowed[addressKind(address)];
}

/** Whether an address is public unicast: what may be reached where nothing else was opened. */
export function isPublicAddress(address: string): boolean {
  return addressKind(address) === 'public';
}
