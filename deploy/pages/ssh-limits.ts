/** Limits of SSH. */
import * as sshLogin from '../../actors/ssh/login-attempts.ts';
import * as sshKey from '../../actors/ssh/public-key.ts';
import * as sftp from '../../agent/access/sftp/limits.ts';
import * as agentSsh from '../../agent/access/ssh/limits.ts';
import * as spool from '../../agent/access/ssh/recording/spool.ts';
import * as sshSession from '../../agent/access/ssh/sessions/session.ts';
import * as sshRows from '../../persistence/committer/ssh-rows.ts';
import * as passwords from '../../persistence/ssh/passwords.ts';
import * as pruned from '../../persistence/sweeps/pruned.ts';
import * as sshPeer from '../../transport/net/ssh/limits.ts';
import * as protocol from '../../transport/protocol/limits.ts';
import * as sshSessions from '../../transport/protocol/ssh-sessions.ts';
import { limits, type Limit } from './limit.ts';

/** Of one theme of the page. */
export const SSH_LIMITS: readonly (readonly Limit[])[] = [
  limits('agent/access/ssh/limits.ts', { ...agentSsh, ...agentSsh.SSH_LIMITS }, [
    ['loginMsMax', 'A client that is not logged in by then is cut.'],
    ['triesMax', 'Tries of one connection, offered keys included. Then it is cut.'],
    ['failuresMax', 'Wrong passwords and signatures of one address in a minute. More wait or are refused.'],
    ['connectionsMax', 'Connections to one machine at once.'],
    ['connectionsPerUserMax', 'Connections of one username to one machine at once.'],
    ['channelsMax', 'Sessions and forwarded streams of one connection.'],
  ]),
  limits('transport/protocol/limits.ts', protocol, [
    ['SSH_PACKET_BYTES_MIN', 'Smallest packets that a channel may ask for. With smaller ones the connection ends.'],
  ]),
  limits('transport/net/ssh/limits.ts', sshPeer, [
    [
      'KEY_EXCHANGES_PER_MINUTE_MAX',
      'New exchanges of keys in a minute, of one connection that carries little. With one more it ends.',
    ],
    ['KEY_EXCHANGE_EARNED_BYTES', 'Bytes that a connection has carried since the last one: the next is not counted.'],
    ['KEY_EXCHANGE_MS_MAX', 'A new exchange of keys that is not over by then ends the connection.'],
  ]),
  limits('agent/access/ssh/sessions/session.ts', sshSession, [
    ['COMMAND_CHARS_MAX', 'Characters of a command line. A longer one ends the connection: use stdin.'],
  ]),
  limits('agent/access/sftp/limits.ts', sftp, [['HANDLES_MAX', 'Files and directories that one client has open.']]),
  limits('agent/access/ssh/recording/spool.ts', spool, [
    ['SPOOL_BYTES_MAX', 'Recordings that wait on a machine for an admin. Beyond it none are made.'],
  ]),
  limits('persistence/sweeps/pruned.ts', pruned, [
    ['PRUNED_RECORDING_BYTES_MAX', 'Recordings that are deleted at once when they are kept no longer.'],
  ]),
  limits('persistence/committer/ssh-rows.ts', sshRows, [
    ['SSH_USERNAMES_MAX', 'SSH usernames of one node; more is a 409.'],
    ['SSH_PUBLIC_KEYS_MAX', 'Keys of one SSH username; more is a 409.'],
  ]),
  limits('actors/ssh/public-key.ts', sshKey, [
    ['RSA_BITS_MIN', 'Bits of an RSA key, at least; a shorter one is a 422.'],
  ]),
  limits('actors/ssh/login-attempts.ts', sshLogin, [
    ['SSH_ATTEMPTS_BURST_MAX', 'Failed logins in a row at one node. Beyond it they are refused without a look.'],
    ['SSH_ATTEMPTS_PER_SECOND', 'How many more of them in a second.'],
  ]),
  limits('persistence/ssh/passwords.ts', passwords, [
    ['HASHES_WAITING_MAX', 'Passwords that wait to be hashed, on one admin. Beyond it they are refused.'],
  ]),
  limits('transport/protocol/ssh-sessions.ts', sshSessions, [
    ['SSH_SESSIONS_TOLD_MAX', 'Live SSH connections that a node tells of, the latest; more are counted.'],
    ['SSH_SESSIONS_BYTES_MAX', 'Bytes of them. More are a 503.'],
    ['SSH_ACCOUNT_CHARS_MAX', 'Characters of the account of each.'],
  ]),
];
