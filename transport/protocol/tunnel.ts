/**
 * What is said inside a tunnel beside the bytes: a CONNECT a stream, answered 200 once the far end is connected. HTTP/2
 * as of RFC 9113, 8.5.
 */
import { AGENT_SERVERS } from './agent-api.ts';

/**
 * Request header: how the stream leaves the machine. `self`: to the machine itself, its loopback included. `chain`:
 * through it.
 */
export const USE_HEADER = 'edge-use';

/** The ways out that an admin may ask for. */
export const TUNNEL_USES = ['self', 'chain'] as const;
/** One of them. */
export type TunnelUse = (typeof TUNNEL_USES)[number];

/**
 * Request header of a `self` stream: the server of the agent itself that it is for, wherever that listens. An agent of
 * before protocol 6 goes by the port alone.
 */
export const SERVER_HEADER = 'edge-server';

/** Servers of an agent. */
export const TUNNEL_SERVERS = [...AGENT_SERVERS, 'ssh'] as const;
/** One of them. */
export type TunnelServer = (typeof TUNNEL_SERVERS)[number];

/**
 * Headers of an answer other than 200: the failure's word (transport/net/streams/dialled.ts), and one sentence,
 * percent-encoded.
 */
export const FAILURE_HEADER = 'edge-failure';
export const MESSAGE_HEADER = 'edge-message';

/** Status of every answer that is no stream: which one it is says the header. */
export const STATUS_NOT_DIALLED = 502;

/** Streams of one tunnel at once (L1). */
export const TUNNEL_STREAMS_MAX = 4_096;

/**
 * What either side takes of one stream before the other must wait, in bytes. A slow stream holds this much memory; at
 * 100 ms of round trip a stream carries ten times as much a second.
 */
export const STREAM_WINDOW_BYTES = 1_048_576;

/**
 * What either side takes of all streams before it hands it on, in bytes: more than one stream's window, so that a slow
 * stream never stalls another.
 */
export const TUNNEL_WINDOW_BYTES = 8_388_608;

/**
 * Bytes of a tunnel that came and that HTTP/2 did not take yet: the window of all streams, and as much again for what
 * is not counted towards it (headers, pings, frames around).
 */
export const TUNNEL_UNREAD_BYTES_MAX = 2 * TUNNEL_WINDOW_BYTES;

/** Payload of one HTTP/2 frame, in bytes. Larger ones cost less; smaller ones let streams take turns sooner. */
export const TUNNEL_FRAME_BYTES = 65_536;

/** Largest WebSocket message of a tunnel, in bytes: senders merge little, receivers allow for more than one frame. */
export const TUNNEL_MESSAGE_BYTES_MAX = 1_048_576;

/** What HTTP/2 may hold for one tunnel, in MB as Node counts it. Above it new streams are refused. */
export const TUNNEL_MEMORY_MB_MAX = 256;

/**
 * An agent asks for a sign of life this often, and an admin where it heard nothing for so long; either gives the tunnel
 * up after twice as long without one. In ms.
 */
export const TUNNEL_PING_MS = 10_000;
export const TUNNEL_SILENCE_MS_MAX = 20_000;
