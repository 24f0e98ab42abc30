/**
 * The one guard against requests to where nobody outside may reach (R2). It is asked twice: when somebody gives a URL,
 * and at each dial, where the addresses that were checked are the ones that are dialled. So a name may change in
 * between.
 */
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressPolicy } from './policy.ts';
import { bareHost, destinationOf, isLiteral, portProblem } from './destination.ts';
import { CONNECT_ATTEMPT_MS_MAX, CONNECT_MS_MAX } from './limits.ts';
import { createVet, literalProblem, type Vet, type VettingOptions } from './vetting.ts';

/** What was made of a URL: it, parsed, or one sentence for a person. */
export type GuardVerdict = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly reason: string };

/** How connections are made, beyond where to. */
export interface ConnectorOptions {
  /** Longest wait for an open connection, in ms. */
  readonly connectMsMax?: number;
  /** Certificates to trust instead of the system's, PEM. */
  readonly ca?: string;
}

/** What webhooks, relay maps and proxies ask before they reach out. */
export interface Guard {
  /**
   * Checks a URL that somebody gave, all of its addresses included. Never rejects. A yes holds for now: each dial
   * checks again.
   */
  check(url: string): Promise<GuardVerdict>;
  /** Checks a host for those who dial by themselves: they dial one of these addresses, and never the name. */
  readonly vet: Vet;
  /**
   * For `new Agent({ connect })` of undici: dials only addresses that it has just checked, else fails with {@link
   * AddressRefused} or {@link NameUnresolved} before a packet leaves. TLS is still for the host of the URL. HTTP/1.1.
   */
  connector(options?: ConnectorOptions): buildConnector.connector;
}

/** A dial to where the guard lets nobody. Nothing was sent. It will not pass by itself. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
}

/** A dial to a name that has no address now. Nothing was sent. It may pass. */
export class NameUnresolved extends Error {
  override readonly name = 'NameUnresolved';
  readonly code = 'NAME_UNRESOLVED';
}

/** Makes the guard. `allowPrivate` opens private networks, but never metadata services. */
export function createGuard(options: VettingOptions): Guard {
  const vet = createVet(options);
  return {
    vet,
    async check(text) {
      const destination = destinationOf(text);
      if (!destination.ok) return destination;
      const vetted = await vet(destination.url.hostname);
      return vetted.ok ? destination : { ok: false, reason: vetted.reason };
    },
    connector: (connecting = {}) => connectorOf(vet, options, connecting),
  };
}

/** `net` asks `lookup` for names only and dials addresses as they are: those, and the port, are checked before. */
function connectorOf(
  vet: Vet,
  policy: AddressPolicy,
  { connectMsMax = CONNECT_MS_MAX, ca }: ConnectorOptions,
): buildConnector.connector {
  const connect = buildConnector({
    timeout: connectMsMax,
    allowH2: false,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: CONNECT_ATTEMPT_MS_MAX,
    lookup: lookupOf(vet),
    ...(ca !== undefined && { ca }),
  });
  return (target, callback) => {
    const host = bareHost(target.hostname);
    const problem =
      portProblem(target.port === '' ? undefined : Number(target.port)) ??
      (isLiteral(host) ? literalProblem(host, policy) : undefined);
    if (problem === undefined) connect(target, callback);
    else
      queueMicrotask(() => {
        callback(new AddressRefused(problem), null);
      });
  };
}

/** A look-up that answers what was checked, all of it, once a connection: `net` has nothing to ask anybody else. */
function lookupOf(vet: Vet): LookupFunction {
  return (host, { all }, callback) => {
    void answer();

    async function answer(): Promise<void> {
      const vetted = await vet(host);
      if (!vetted.ok)
        return callback(
          vetted.kind === 'refused' ? new AddressRefused(vetted.reason) : new NameUnresolved(vetted.reason),
          '',
          0,
        );
      if (all === true) return callback(null, [...vetted.addresses]);
      const [{ address, family }] = vetted.addresses;
      return callback(null, address, family);
    }
  };
}
