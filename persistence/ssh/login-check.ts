/** SSH logins, held against the rows. */
import type { Pool } from 'pg';
import type { Log } from '../../transport/net/log.ts';
import { DatabaseUnavailable } from '../../actors/ports.ts';
import type { SshOutcome } from '../../actors/ssh/login-attempts.ts';
import type { NodeId } from '../../transport/protocol/ids.ts';
import { fingerprintOf, type SshCredential } from '../../transport/protocol/ssh.ts';
import { batched } from '../reads/batch.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import type { Passwords } from './passwords.ts';
import type { SshVerifier } from '../../supervisors/ports.ts';

/** What verifiers did so far, for metrics. */
export interface SshCounters {
  accepted: number;
  refused: number;
  /** Refused without a look at the rows: too many of one node. */
  limited: number;
  /** Refused because too many passwords were being hashed. */
  busy: number;
  /** Refused because the database did not answer. */
  unavailable: number;
}

/** The SshVerifier port, with its counters. */
export interface SshLogins extends SshVerifier {
  readonly counters: Readonly<SshCounters>;
}

interface Question {
  readonly node: NodeId;
  readonly username: string;
  /** Null for a password. */
  readonly fingerprint: string | null;
}

interface Found {
  readonly id: string;
  readonly passwordHash: string | null;
  readonly keyId: string | null;
}

/** A verifier over this pool. Logins that come together share a query. */
export function createSshLogins({
  pool,
  passwords,
  log,
}: {
  readonly pool: Pool;
  readonly passwords: Passwords;
  readonly log: Log;
}): SshLogins {
  const counters: SshCounters = { accepted: 0, refused: 0, limited: 0, busy: 0, unavailable: 0 };
  const find = batched((questions: readonly Question[]) => found(pool, questions));

  async function outcomeOf(
    node: NodeId,
    username: string,
    credential: SshCredential,
  ): Promise<SshOutcome & { readonly counted: keyof SshCounters }> {
    const fingerprint =
      credential.method === 'public_key' ? fingerprintOf(Buffer.from(credential.blob, 'base64')) : null;
    // PostgreSQL cannot even be asked for a name with a NUL.
    const row = username.includes('\0') ? null : await find({ node, username, fingerprint });
    const isRight =
      credential.method === 'password'
        ? await passwords.verify(credential.password, row?.passwordHash ?? null, node)
        : credential.signature !== 'wrong' && typeof row?.keyId === 'string';
    const counted = isRight === null ? 'busy' : isRight && row !== null ? 'accepted' : 'refused';
    if (row === null) return { counted, sshUsername: null, grant: null };
    return {
      counted,
      sshUsername: row.id,
      grant: isRight === true ? { ssh_username_id: row.id, ssh_public_key_id: row.keyId } : null,
    };
  }

  return {
    counters,
    async verify(node, username, credential) {
      try {
        const { counted, ...outcome } = await outcomeOf(node, username, credential);
        counters[counted] += 1;
        return outcome;
      } catch (error) {
        counters.unavailable += 1;
        if (!(error instanceof DatabaseUnavailable)) log.error({ error, node }, 'an SSH login could not be verified');
        return null;
      }
    },
    gone: (node, grants) =>
      goneOf(
        pool,
        node,
        grants.map((grant) => grant.ssh_username_id),
        grants.flatMap((grant) => grant.ssh_public_key_id ?? []),
      ),
    limited: () => {
      counters.limited += 1;
    },
  };
}

async function found(pool: Pool, questions: readonly Question[]): Promise<readonly (Found | null)[]> {
  const rows = await rowsOf<Found & { readonly n: number }>(
    pool,
    'verifying SSH logins',
    sql`
    select v.n::int as n, u.id, u.password_hash as "passwordHash", k.id as "keyId"
    from unnest(${questions.map((one) => one.node)}::uuid[], ${questions.map((one) => one.username)}::text[], ${questions.map((one) => one.fingerprint)}::text[]) with ordinality as v (node, username, fingerprint, n)
    join ssh_username u on u.node_id = v.node and u.username = v.username
    left join ssh_public_key k on k.ssh_username_id = u.id and k.fingerprint = v.fingerprint`,
  );
  const byPlace = new Map(rows.map((row) => [row.n, row]));
  return questions.map((_, index) => byPlace.get(index + 1) ?? null);
}

async function goneOf(
  pool: Pool,
  node: NodeId,
  usernames: readonly string[],
  keys: readonly string[],
): ReturnType<SshVerifier['gone']> {
  const rows = await rowsOf<{ id: string; isKey: boolean }>(
    pool,
    'looking for SSH usernames and keys that are gone',
    sql`
    select v.id, false as "isKey" from unnest(${[...new Set(usernames)]}::uuid[]) as v (id) where not exists (select from ssh_username u where u.id = v.id and u.node_id = ${node}::uuid)
    union all
    select v.id, true from unnest(${[...new Set(keys)]}::uuid[]) as v (id)
      where not exists (select from ssh_public_key k join ssh_username u on u.id = k.ssh_username_id where k.id = v.id and u.node_id = ${node}::uuid)`,
  );
  const { gone = [], goneKeys = [] } = Object.groupBy(rows, (row) => (row.isKey ? 'goneKeys' : 'gone'));
  return { sshUsernames: gone.map((row) => row.id), sshPublicKeys: goneKeys.map((row) => row.id) };
}
