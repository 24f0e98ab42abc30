/** Metrics of the port of HTTPS: the certificate, and who did not get in. Absent where an admin serves plain HTTP. */
import { by, counter, gauge, one, type Family } from './family.ts';

/** In the order in which they are written. */
export const TLS_FAMILIES: readonly Family[] = [
  gauge(
    'tls_certificate_expiry_timestamp_seconds',
    'When the certificate ends that this admin shows. Absent where it serves plain HTTP.',
    [],
    ({ live: { tls } }) => one(tls === null ? null : tls.expiresAtMs / 1_000),
  ),
  gauge(
    'tls_certificate_refused',
    'Whether its files hold a pair that cannot be used, so that the one before is shown on.',
    [],
    ({ live: { tls } }) => one(tls?.isRefused),
  ),
  counter('tls_certificate_reloads_total', 'Pairs that were taken up while it ran.', [], ({ live: { tls } }) =>
    one(tls?.reloads),
  ),
  counter(
    'tls_refused_total',
    'Connections to the port of HTTPS that came to nothing: plain HTTP, or a handshake that failed.',
    ['reason'],
    ({ live: { tls } }) =>
      tls === null ? [] : by('reason', { plain_http: tls.plainHttp, handshake: tls.failedHandshakes }),
  ),
];
