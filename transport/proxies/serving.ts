/** What the servers of both protocols work with, and what they are. */
import type { Server } from 'node:net';
import type { Log } from '../net/log.ts';
import type { Joins } from '../net/streams/join.ts';
import type { ProxyCounters } from './counters.ts';
import type { ClientConnections } from './client-connections.ts';
import type { ProxyLimits } from './limits.ts';
import type { ProxyPorts } from './ports.ts';

/** What both work with. */
export interface Serving {
  readonly ports: ProxyPorts;
  readonly log: Log;
  readonly limits: ProxyLimits;
  readonly joins: Joins;
}

/** Equal servers of one protocol that do not listen yet, what they count, and who is connected. */
export interface ProxyFront {
  readonly servers: readonly Server[];
  readonly counters: ProxyCounters;
  readonly clients: ClientConnections;
}
