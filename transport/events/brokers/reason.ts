/** Why a broker cannot be reached or does not take something, in words for an operator. */

/**
 * What the system says when a connection cannot be made or is gone. Source: errno(3) and Node's documentation of `dns`
 * and `tls`.
 */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name cannot be looked up now',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that network',
  ETIMEDOUT: 'it does not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by nobody who is trusted here',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by nobody who is trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by nobody who is trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by nobody who is trusted here',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS there',
};

/** Characters of what a broker says that are told: it may say megabytes. */
export const REASON_CHARACTERS_MAX = 500;

/** Where a broker gave no text: what a library read of its answer may be anything. */
export const UNREADABLE = 'its answer says no reason that can be read';

/** The text of a part of an answer that should be one; empty where it is something else. */
export function textOf(part: unknown): string {
  return typeof part === 'string' ? part : '';
}

/** What a table has to say of a code, which may be anything that a server called its error. */
export function knownReason(reasons: Readonly<Record<string, string>>, code: unknown): string | undefined {
  return typeof code === 'string' && Object.hasOwn(reasons, code) ? reasons[code] : undefined;
}

/**
 * The reason as a part of a sentence, without full stop. Of an error that is not known here it is the first line of the
 * message, up to REASON_CHARACTERS_MAX.
 */
export function reasonOf(error: unknown): string {
  const known = error instanceof Error && 'code' in error ? knownReason(REASONS, error.code) : undefined;
  if (known !== undefined) return known;
  const message =
    error instanceof AggregateError && error.message === ''
      ? reasonOf(error.errors[0])
      : error instanceof Error
        ? textOf(error.message) || UNREADABLE
        : String(error);
  return (message.split('\n', 1)[0] ?? '').slice(0, REASON_CHARACTERS_MAX).replace(/[.\s]+$/u, '');
}
