/** A call to one admin for what that admin alone has: no operation of the catalogue, and done whenever it is asked. */
import { randomUUID } from 'node:crypto';
import type { PeerCall } from './ports.ts';

/** What is asked of whom, for whom. */
export interface AskedOfAdmin extends Pick<PeerCall, 'operation' | 'input' | 'principal' | 'surface'> {
  /** The admin's name. */
  readonly name: string;
  /** So long it has, in ms. */
  readonly msMax: number;
}

/** The call, which is new each time. */
export function callToAdmin({ name, msMax, ...asked }: AskedOfAdmin): PeerCall {
  const id = randomUUID();
  return {
    ...asked,
    call_id: id,
    target: { kind: 'admin', name },
    epoch: 0,
    request_id: id,
    traceparent: null,
    idempotency: null,
    remaining_ms: msMax,
    attempt: 1,
  };
}
