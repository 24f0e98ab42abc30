/** Limits of proxies and tunnels. */
import * as egress from '../../agent/access/egress/dialler.ts';
import * as agentTunnels from '../../agent/access/tunnel/tunnels.ts';
import * as ways from '../../agent/access/tunnel/ways.ts';
import * as protocol from '../../transport/protocol/limits.ts';
import * as tunnel from '../../transport/protocol/tunnel.ts';
import * as proxies from '../../transport/proxies/limits.ts';
import * as tunnels from '../../transport/tunnels/limits.ts';
import { limits, type Limit } from './limit.ts';

/** Of one theme of the page. */
export const TUNNEL_LIMITS: readonly (readonly Limit[])[] = [
  limits('transport/protocol/tunnel.ts', tunnel, [
    ['TUNNEL_STREAMS_MAX', 'Connections to one machine at once, through one admin. More are refused (503).'],
  ]),
  limits('transport/protocol/limits.ts', protocol, [
    ['TUNNEL_IDLE_MS', 'A tunnel without a connection is closed after this, and opened again on demand.'],
  ]),
  limits('transport/tunnels/limits.ts', tunnels, [
    ['WAITING_FOR_TUNNEL_MAX', 'Connections that wait for the tunnel of one node. More are refused (503).'],
    [
      'WRONG_TUNNEL_TOKENS_PER_MINUTE_MAX',
      'Tunnels that nobody waits for, of an address in a minute, before the log names it.',
    ],
    ['PIECE_FRAMES_MAX', 'Frames of a tunnel that are handled in one go. The rest waits, with turns for all others.'],
    [
      'FRAMES_HANDED_ON_PER_SECOND',
      'Frames of one machine that are handled in a second. A burst of more is spread; none is lost.',
    ],
    [
      'NODE_ANSWER_BYTES_PER_SECOND_MAX',
      'Bytes of the answers of one node that are read in a second; more are refused (503), once `NODE_ANSWER_BYTES_AT_ONCE_MAX` are used up.',
    ],
    ['NODE_ANSWER_BYTES_AT_ONCE_MAX', 'The same, of those that come in one go.'],
    [
      'AGENT_PIECES_MAX',
      'Pieces of an answer of an agent, besides one for each `AGENT_PIECE_BYTES_MIN`; with one more it is refused.',
    ],
    ['NODE_REQUESTS_MAX', 'Scrapes and diagnoses of one node at once. More are refused (503).'],
  ]),
  limits('agent/access/tunnel/tunnels.ts', agentTunnels, [
    ['TUNNELS_MAX', 'Tunnels of one machine. Beyond it the oldest without a connection makes room, if there is one.'],
  ]),
  limits('agent/access/tunnel/ways.ts', ways, [
    ['URL_DIAL_MS_MAX', 'An agent that does not get to an admin at its own URL by then takes that of its session.'],
  ]),
  limits('transport/proxies/limits.ts', proxies, [
    ['CONNECTIONS_MAX', 'Clients of one proxy. Beyond it the oldest that has not shown its password makes room.'],
    ['HANDSHAKE_MS_MAX', 'A client that has not asked by then is cut.'],
    ['CONNECT_MS_MAX', 'A target that does not answer by then is given up (504).'],
    ['HEADER_BYTES_MAX', 'Headers of one request. More are refused.'],
  ]),
  limits('agent/access/egress/dialler.ts', egress, [
    ['DIAL_MS_MAX', 'A machine gives up a target that does not answer by then.'],
    ['DIALS_MAX', 'Targets that a machine dials at once, for each use. More are refused.'],
    ['STREAMS_MAX', 'Connections that a machine has open at once, for each use. More are refused.'],
  ]),
];
