/**
 * Under which name each secret is sealed: its table, row and column, so that a sealed text that is moved elsewhere does
 * not open (E3).
 */

/** The blob of an enrolment key. */
export function enrollmentKeyBlob(id: string): string {
  return `enrollment_key/${id}/sealed_key`;
}

/** The proxy password of a node. */
export function nodeProxyPassword(node: string): string {
  return `node/${node}/sealed_proxy_password`;
}

/** The secret with which deliveries of a webhook are signed. */
export function webhookSecret(id: string): string {
  return `webhook/${id}/sealed_secret`;
}

/** The headers that go with each delivery of a webhook. */
export function webhookHeaders(id: string): string {
  return `webhook/${id}/sealed_headers`;
}

/** The answer that is kept under an Idempotency-Key. */
export function idempotencyRecord(scope: string, key: string): string {
  return `idempotency_key:${scope}:${key}`;
}
