/** Settings of the ways into nodes: the proxies, and recordings of SSH sessions. */
import { PROXIED_IDLE_MS_MAX, PROXIED_LIFE_MS_MAX } from '../transport/protocol/limits.ts';
import { RECORDING_TEXT_BYTES_MAX } from '../transport/protocol/recording.ts';
import { SSH_RECORDING_MODES } from '../transport/protocol/ssh.ts';
import { choice, durationMs, flag, integer, port, text } from './fields.ts';

/** Default ports of the proxies. Source: docs/settings.md. */
const ADMIN_HTTP_PROXY_PORT = 43_128;
const ADMIN_SOCKS5_PROXY_PORT = 41_080;

/** Proxies and SSH. */
export const REACH_SETTINGS = {
  ADMIN_PROXY_ENABLED: flag()
    .default(true)
    .describe('Whether the proxies listen. Without them nobody reaches into nodes through this admin.'),
  ADMIN_PROXY_HOST: text({ max: 253 }).default('0.0.0.0').describe('Address on which the proxies listen.'),
  ADMIN_HTTP_PROXY_PORT: port().default(ADMIN_HTTP_PROXY_PORT).describe('Port of the HTTP proxy; 0 takes a free one.'),
  ADMIN_SOCKS5_PROXY_PORT: port()
    .default(ADMIN_SOCKS5_PROXY_PORT)
    .describe('Port of the SOCKS5 proxy; 0 takes a free one.'),
  ADMIN_PROXY_IDLE_MS: durationMs({ min: 1_000, max: PROXIED_IDLE_MS_MAX })
    .default(600_000)
    .describe('A proxied connection over which nothing goes for so long is closed.'),
  ADMIN_PROXY_LIFE_MS: durationMs({ min: 1_000, max: PROXIED_LIFE_MS_MAX })
    .default(86_400_000)
    .describe('A proxied connection is closed when it is this old.'),
  SSH_RECORDING: choice(SSH_RECORDING_MODES)
    .default('off')
    .describe(
      'Which SSH sessions on nodes are recorded: none, those with a terminal, or all. What is typed without an echo, such as a password, is not in a recording.',
    ),
  SSH_RECORDING_MAX_BYTES: integer({ min: 1_024, max: RECORDING_TEXT_BYTES_MAX })
    .default(4_194_304)
    .describe('Most text of one recording, in bytes before compression; what comes after is left out.'),
  SSH_RECORDING_MAX_MS: durationMs({ min: 1_000, max: 604_800_000 })
    .default(14_400_000)
    .describe('Longest time of one recording; what comes after is left out.'),
  SSH_RECORDING_RETENTION_DAYS: integer({ min: 1, max: 3_650 })
    .default(30)
    .describe('Days for which recordings are kept.'),
};
