/** The version of the wire contract between agent and admin, with its dated history. */

/**
 * One integer, sent in `hello` and `welcome`. Raised by every change that an older peer could notice.
 *
 * | version | date | what changed |
 * |---|---|---|
 * | 1 | 2026-11-21 | first version: hello, welcome, deliver, acknowledge, result, output parts, confirm, settle, cancel, tail, report, settings, ping |
 */
export const PROTOCOL_VERSION = 1;

/** The oldest version of the other side that this side still understands. */
export const PROTOCOL_VERSION_MIN = 1;

/** WebSocket subprotocol of the control session. Source: contract.md, 5. */
export const SESSION_SUBPROTOCOL = 'edge.session.v1';

/** Path of the control session on the admin. Source: contract.md, 5. */
export const SESSION_PATH = '/api/v1/agents/session';

/** Path of enrolment on the admin. Source: contract.md, 5. */
export const ENROLL_PATH = '/api/v1/agents/enroll';
