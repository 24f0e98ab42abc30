/** The version of the wire contract between agent and admin, with its dated history. */

/**
 * One integer, sent in `hello` and `welcome`. Raised by every change that an older peer could notice.
 *
 * | version | date | what changed |
 * |---|---|---|
 * | 1 | 2026-11-21 | first version: hello, welcome, deliver, acknowledge, result, output parts, confirm, settle,
 * cancel, tail, report, settings, ping |
 * | 2 | 2026-11-21 | reach: open-tunnel; verify-ssh, ssh-grants, ssh-verdict, end-ssh; settings say what is recorded of
 * SSH sessions |
 * | 3 | 2026-11-21 | traces: a delivery may carry a traceparent, its result what became of it on the machine |
 * | 4 | 2026-11-21 | the VPN: mesh-advertise, mesh-network, mesh-changed, mesh-refused, mesh-observed, mesh-try,
 * mesh-report, netmaker-join; settings say how to join; a tunnel may be opened through the VPN |
 * | 5 | 2026-11-22 | ask-open, still-open: after a stall or a restart an agent asks before it starts what can have
 * expired or been cancelled; greet: a node that moves says hello again on its connection, which stays; ssh-unanswered,
 * ssh-unanswered-stored: logins that were tried while no admin answered; recall: an agent is asked how what it no
 * longer holds ended |
 * | 6 | 2026-11-23 | rhythm: an agent on a metered link says how seldom it pings and reports; a stream of a tunnel may
 * name the server of the agent that it is for; an enrolment's answer names aliases that other nodes have; a node may
 * remove itself |
 * | 7 | 2026-11-23 | facts: what an agent says of its machine, with the registration of its hello and as facts-changed
 * when they change | | 8 | 2026-11-23 | facts name the public host key of the agent's SSH server | | 9 | 2026-11-23 |
 * settings may say how often to ping, and after how long without an answer another admin is asked beside the one that
 * is silent; an agent that does not reach the admin that an open-tunnel names tries the one of its session | | 10 |
 * 2026-11-23 | an agent that does not reach the admin to which it was sent says so with its next dial, by a header, and
 * the admin that it reaches passes its session on | | 11 | 2026-11-23 | self-updates: update, update-answer,
 * update-outcome, update-outcome-stored |
 */
export const PROTOCOL_VERSION = 11;

/** From this version on an agent opens tunnels and asks about SSH logins. */
export const PROTOCOL_VERSION_REACH = 2;

/** From this version on deliveries and results say which trace they belong to. */
export const PROTOCOL_VERSION_TRACES = 3;

/** From this version on an agent is a member of its cluster's VPN. */
export const PROTOCOL_VERSION_VPN = 4;

/** From this version on an admin answers an agent that asks what it may still start. */
export const PROTOCOL_VERSION_ASKS = 5;

/** From this version on an agent says hello again when it is asked to, and tells of logins that no admin answered. */
export const PROTOCOL_VERSION_GREET = 5;

/** From this version on an agent that is asked how executions ended which it no longer holds says so. */
export const PROTOCOL_VERSION_RECALLS = 5;

/** From this version on an admin goes along with the rhythm of an agent on a metered link. */
export const PROTOCOL_VERSION_RHYTHM = 6;

/** From this version on an agent says what its machine is, and an admin listens. */
export const PROTOCOL_VERSION_FACTS = 7;

/**
 * From this version on an agent pings as often as its admin says, and asks another one beside an admin that is silent.
 */
export const PROTOCOL_VERSION_DOUBTS = 9;

/** From this version on an agent that does not reach the admin that an open-tunnel names tries that of its session. */
export const PROTOCOL_VERSION_FALLBACK = 9;

/** From this version on an agent tells its updater when it is asked to, and an admin listens what came of it. */
export const PROTOCOL_VERSION_UPDATES = 11;

/** The oldest version of the other side that this side still understands. */
export const PROTOCOL_VERSION_MIN = 1;

/** WebSocket subprotocol of the control session. Source: docs/architecture/sessions.md. */
export const SESSION_SUBPROTOCOL = 'edge.session.v1';

/** Path of the control session on the admin. Source: docs/architecture/sessions.md. */
export const SESSION_PATH = '/api/v1/agents/session';

/**
 * Header of a 401 to a session that says more; and what it says to whoever has the token of a node that somebody
 * deleted, so that its agent does not take itself for merely unknown.
 */
export const REFUSAL_HEADER = 'x-edge-refusal';
export const NODE_DELETED = 'node-deleted';

/**
 * Header of a session whose agent was sent to the owner of its cluster and did not get there: its URL, as it was told.
 * The admin passes the session on to it, if it can. None comes from an agent before version 10.
 */
export const STRANDED_HEADER = 'x-edge-stranded';

/** WebSocket subprotocol of a tunnel: HTTP/2 in binary messages, the agent is the server. */
export const TUNNEL_SUBPROTOCOL = 'edge.tunnel.v1';

/**
 * What an agent asks a connection to become for a tunnel without WebSocket: HTTP/2 on the connection itself, the agent
 * is the server. Source of the form: RFC 9110, 7.8.
 */
export const TUNNEL_UPGRADE = 'edge-tunnel';

/** Path of tunnels on the admin. The bearer token is the one of the `open-tunnel` that asked for it. */
export const TUNNEL_PATH = '/api/v1/agents/tunnel';

/** Path of uploads of finished recordings on the admin, with the node's API token; the recording's id follows. */
export const RECORDING_PATH = '/api/v1/agents/recordings/';

/** Path of the node that a token belongs to: a DELETE with it removes the node, as its machine leaves. */
export const OWN_NODE_PATH = '/api/v1/agents/me';

/** Path of enrolment on the admin. Source: docs/architecture/sessions.md. */
export const ENROLL_PATH = '/api/v1/agents/enroll';

/**
 * Where an admin tells of its own relay, as a DERPMap; and where relays ask whether a key may enter, as derper does
 * with --verify-client-url.
 */
export const RELAY_MAP_PATH = '/api/v1/relays/map.json';
export const RELAY_ADMISSION_PATH = '/api/v1/relays/admission';
