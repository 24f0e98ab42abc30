/** How an agent is let in by the owner of its cluster, where its credentials are made. */
import { z } from 'zod';
import { KEY_REFUSALS, type Presented } from '../actors/cluster/enrollment.ts';
import type { EnrolledBefore, EnrollmentKeyRecord } from '../actors/records.ts';
import { ok, refuse, type Result } from '../actors/refusal.ts';
import { nodeProxyPassword } from '../actors/sealed-columns.ts';
import {
  decodeEnrollmentBlob,
  EnrollRequest,
  recoveryKeySecret,
  EnrollAnswer,
} from '../transport/protocol/enrollment.ts';
import { ClusterId } from '../transport/protocol/ids.ts';
import { operation } from './operation.ts';
import type { OperationPorts } from './ports.ts';

/** What enrolment needs of the outside. */
export type EnrollPorts = Pick<
  OperationPorts,
  'ask' | 'reads' | 'records' | 'vault' | 'clock' | 'newId' | 'standing' | 'makeRoom'
>;

/** For other admins: addresses and keys were judged where the agent came in. */
export const enroll_agent = operation({
  name: 'enroll_agent',
  kind: 'mutation',
  summary: 'Let an agent into a cluster.',
  rest: null,
  input: z.strictObject({ cluster: ClusterId, request: EnrollRequest }),
  output: EnrollAnswer,
  ownedBy: ({ cluster: id }) => ({ kind: 'cluster', id }),
  repeatable: true,
  handle: ({ request }, { ports }) => admitAgain(request, ports),
});

/** One who asks, with what the rows say of the key and of the node. */
export interface Applicant {
  readonly request: z.output<typeof EnrollRequest>;
  readonly key: EnrollmentKeyRecord;
  readonly existing: EnrolledBefore | null;
}

/** The hashes of what it shows besides its enrolment key; null: it shows none. */
export function presentedBy(
  { recovery_key: recoveryKey, machine_secret: secret }: Applicant['request'],
  vault: Pick<EnrollPorts['vault'], 'sha256'>,
): Pick<Presented, 'recoveryKeyHash' | 'machineSecretHash'> {
  return {
    recoveryKeyHash: recoveryKey == null ? null : vault.sha256(recoveryKeySecret(recoveryKey)),
    machineSecretHash: secret == null ? null : vault.sha256(secret),
  };
}

/** As `admit`, from the rows as they are now. */
export async function admitAgain(request: Applicant['request'], ports: EnrollPorts): Promise<Result<EnrollAnswer>> {
  const { reads, vault } = ports;
  const blob = decodeEnrollmentBlob(request.enrollment_key);
  const key = blob === null ? null : await reads.enrollmentKeyByNonce(vault.sha256(blob.nonce));
  if (key === null) return refuse('invalid_key', KEY_REFUSALS.invalid_key);
  // The node after the key: whoever sees that an earlier try of this machine has spent a use sees its node too.
  return admit({ request, key, existing: await reads.nodeForEnrollment(request.node_id) }, ports);
}

/** Asks the cluster. */
export async function admit({ request, key, existing }: Applicant, ports: EnrollPorts): Promise<Result<EnrollAnswer>> {
  const { vault } = ports;
  const apiToken = vault.newSecret();
  const proxyPassword = vault.newSecret();
  const credentials = {
    apiToken,
    tokenHash: vault.sha256(apiToken),
    proxyPassword,
    sealedProxyPassword: vault.seal(proxyPassword, nodeProxyPassword(request.node_id)),
  };
  const aliasIds = (request.aliases ?? []).map(() => ports.newId());
  const result = await ports.ask<EnrollAnswer>((replyTo) => ({
    to: { kind: 'cluster', id: key.cluster },
    message: {
      type: 'enroll',
      replyTo,
      request,
      key,
      existing,
      ...presentedBy(request, vault),
      credentials,
      aliasIds,
    },
  }));
  return result.ok ? ok(await withAliasesTaken(result.value, request.aliases ?? [], ports)) : result;
}

/** The answer with what the rows decided: which of the aliases other nodes have. */
async function withAliasesTaken(
  answer: EnrollAnswer,
  wanted: readonly string[],
  { reads }: Pick<EnrollPorts, 'reads'>,
): Promise<EnrollAnswer> {
  if (wanted.length === 0) return answer;
  const node = await reads.get('nodes', answer.node_id);
  const got = new Set(node?.aliases.map(({ name }) => name) ?? wanted);
  const taken = wanted.filter((name) => !got.has(name));
  return taken.length === 0 ? answer : { ...answer, aliases_taken: taken };
}
