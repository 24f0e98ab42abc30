/** Operations of the API and the ways in which they are refused, as tables. */
import type { RefusalCode } from '../../actors/refusal.ts';
import { catalogue } from '../../api/catalogue.ts';
import type { AnyOperation } from '../../api/operation.ts';
import { HTTP_STATUS } from '../../api/rest/answers.ts';

/** When each refusal is given. A new code does not compile until it has a line here. */
const WHEN: Readonly<Record<RefusalCode, string>> = {
  bad_request: 'broken JSON, a malformed id, an unknown or malformed parameter of the query',
  unauthorized: 'the key is missing or wrong; the answer carries `WWW-Authenticate: Bearer`',
  forbidden: 'the key is good, and does not reach here',
  invalid_key: 'enrolment: there is no such key',
  key_expired: 'enrolment: the key has expired',
  key_spent: 'enrolment: the key has no use left',
  node_limit_reached: 'enrolment: the cluster has as many nodes as it may have',
  not_found: 'there is no such thing, or no such route',
  method_not_allowed: 'the route takes other methods, which `Allow` names',
  conflict: 'the name is taken, the cluster holds nodes, the execution is over, …',
  idempotency_conflict: 'the `Idempotency-Key` was used with another body',
  payload_too_large: 'the body is longer than `MAX_BODY_BYTES`',
  unsupported_media_type: 'the body is not JSON in UTF-8',
  validation_failed: 'a field of the body is wrong; `details` says which and why',
  rate_limited: 'too much from one address, or too much that waits; carries `Retry-After`',
  internal_error: 'a bug; its cause is in the log under the request id',
  service_unavailable: 'the database, the owner of the cluster or the node cannot be reached; carries `Retry-After`',
  degraded_mode:
    'there are more nodes than the admins have room for; enrolment and `change_node_cluster`: the admin of the cluster has no room for another node; carries `Retry-After`',
};

/** A row for each refusal, by status. */
export function errorsTable(): string {
  const rows = (Object.entries(WHEN) as [RefusalCode, string][])
    .toSorted(([a], [b]) => HTTP_STATUS[a] - HTTP_STATUS[b])
    .map(([code, when]) => `| ${HTTP_STATUS[code]} | \`${code}\` | ${when} |\n`);
  return `| Status | \`code\` | When |\n|---|---|---|\n${rows.join('')}`;
}

/** A row for each operation, in the order of the catalogue. */
export function operationsTable(): string {
  const rows = Object.values(catalogue as Readonly<Record<string, AnyOperation>>).map(
    ({ name, rest, scope, summary }) =>
      `| \`${name}\` | ${rest === null ? '–' : `${rest.method} \`${rest.path}\``} | ${scope} | ${summary.replaceAll('|', '\\|')} |\n`,
  );
  return `| Name | REST | Scope | What it does |\n|---|---|---|---|\n${rows.join('')}`;
}
