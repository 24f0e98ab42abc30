/**
 * A small DNS server for the names of a cluster, on addresses of this machine. It forwards nothing and knows nothing
 * else.
 */
import { createHash } from 'node:crypto';
import { createAdmission } from './admission.ts';
import { Listener, type ListenerState } from './listener.ts';
import { replyTo } from './reply.ts';
import type { VpnRecords } from './records.ts';

/** Where it listens, each by UDP and TCP. */
export interface ResolverStates {
  /** On this member's addresses in the VPN; null before the first try. */
  readonly ipv4: ListenerState | null;
  readonly ipv6: ListenerState | null;
  /** On loopback, for resolv.conf. */
  readonly loopback: ListenerState | null;
}

/** What it is made of. */
export interface ResolverOptions {
  /** 0: free ports, for tests. */
  readonly port: number;
  /** See `loopbackAddress`; null: none. */
  readonly loopback: string | null;
  /** Monotonic, in ms. */
  readonly nowMs: () => number;
  /** It listens where it did not before, or the other way round. */
  readonly changed: () => void;
}

/** A running resolver. */
export interface Resolver {
  /** Answers by these from the next query on, and moves to this member's addresses if they changed. */
  serve(records: VpnRecords): void;
  readonly states: ResolverStates;
  close(): Promise<void>;
}

/** Nothing is listened on before the first `serve`. */
export function createResolver({ port, loopback, nowMs, changed }: ResolverOptions): Resolver {
  let records: VpnRecords | null = null;
  let listeners = new Map<string, Listener>();
  const closing = new Set<Promise<void>>();
  let isClosed = false;
  const admission = createAdmission({ ranges: () => records?.ranges ?? [], nowMs });

  const open = (address: string) =>
    new Listener({
      address,
      port,
      changed,
      answer: (query, transport, source) =>
        records !== null && admission.admits(source) ? replyTo(query, transport, records) : null,
    });
  const shut = (listener: Listener) => {
    const closed = listener.close().finally(() => {
      closing.delete(closed);
    });
    closing.add(closed);
  };
  const stateOf = (address: string | null | undefined) =>
    address === null || address === undefined ? null : (listeners.get(address)?.state ?? null);

  return {
    serve(next) {
      if (isClosed) return;
      records = next;
      const wanted = [next.self.ipv4, next.self.ipv6, ...(loopback === null ? [] : [loopback])];
      for (const [address, listener] of listeners) if (!wanted.includes(address)) shut(listener);
      listeners = new Map(wanted.map((address) => [address, listeners.get(address) ?? open(address)]));
      // whoever tells names has often just set the interface up
      for (const listener of listeners.values()) listener.retry();
    },
    get states() {
      return { ipv4: stateOf(records?.self.ipv4), ipv6: stateOf(records?.self.ipv6), loopback: stateOf(loopback) };
    },
    async close() {
      isClosed = true;
      for (const listener of listeners.values()) shut(listener);
      listeners = new Map();
      await Promise.all(closing);
    },
  };
}

/**
 * Where programs of this machine ask by way of resolv.conf: loopback, so that whoever asks a dead agent is refused at
 * once, while an address of an interface that is gone would cost 5 s a name. Its own for each node, as a machine may
 * have several agents; none of 127.0.0.0/16, which others use.
 */
export function loopbackAddress(node: string): string {
  const [one = 0, two = 0, three = 0] = createHash('sha256').update(node).digest();
  return `127.${1 + (one % 254)}.${two}.${1 + (three % 254)}`;
}
