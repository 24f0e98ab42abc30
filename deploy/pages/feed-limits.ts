/** Limits of live feeds and of the connections that they come over. */
import { limits, type Limit } from './limit.ts';
import * as feeds from '../../api/feeds/limits.ts';
import * as trpcEncoder from '../../api/trpc/encoder.ts';
import * as unauthenticated from '../../api/trpc/unauthenticated-connections.ts';
import * as events from '../../persistence/reads/events.ts';
import * as unreadBytes from '../../api/trpc/unread-bytes.ts';

/** In the order of the page. The link in the last column of each row leads to the file. */
export const FEED_LIMITS: readonly (readonly Limit[])[] = [
  limits('api/feeds/limits.ts', feeds, [
    ['WATCHED_NODES_MAX', 'Nodes that one feed may follow; a filter that matches more is a 400.'],
    ['WATCHED_NODES_TOTAL_MAX', 'Nodes of all feeds at one admin, counted once for each filter; more is a 503.'],
    ['WATCHED_EXECUTIONS_MAX', 'Executions of one command that can be followed; more is a 400.'],
    [
      'WATCHED_EXECUTIONS_TOTAL_MAX',
      'Executions of all commands that are followed at once, at one admin; more is a 503.',
    ],
    ['TAILS_MAX', 'Outputs that are followed at once, at one admin; more is a 503.'],
    ['TAIL_WAITING_BYTES_MAX', 'Live output that waits for a slow reader. Beyond it, it is asked of the agent again.'],
    ['LATEST_EVENTS_MAX', 'Events of before with which `events.watch` may begin; more is a 400.'],
    ['REMEMBERED_EVENTS_MAX', 'Events kept for subscribers. Who is further behind reads from the database.'],
    ['REMEMBERED_EVENTS_BYTES_MAX', 'Bytes of their data, at most.'],
  ]),
  limits('persistence/reads/events.ts', events, [
    ['LATEST_LOOKED_AT_MAX', 'Events among which the latest of some types are looked for.'],
  ]),
  limits('api/trpc/encoder.ts', trpcEncoder, [
    ['MESSAGE_CALLS_MAX', 'Calls in one message of tRPC over WebSocket, and under way on one connection.'],
    ['MESSAGE_MEMBERS_MAX', 'Members of all objects of such a message.'],
  ]),
  limits('api/trpc/unauthenticated-connections.ts', unauthenticated, [
    ['SIGN_IN_MS_MAX', 'A connection that has shown no key by then is closed.'],
    ['UNAUTHENTICATED_BYTES_MAX', 'One that has sent more without having shown a key is closed.'],
  ]),
  limits('api/trpc/unread-bytes.ts', unreadBytes, [
    ['UNREAD_BYTES_MAX', 'Bytes that a client asked for and does not read. Beyond it, it is cut.'],
  ]),
];
