/** Published metadata as rows. One publish at a time, over all admins. */
import type { Pool, PoolClient } from 'pg';
import type { PublishedState, ReleaseRows, StoredTarget } from '../../transport/releases/ports.ts';
import type { Believed, MetadataTexts, Trusted } from '../../transport/releases/repository/trust.ts';
import { rowsOf, sql } from '../reads/sql.ts';
import { inTransaction } from '../connections/transaction.ts';

/** Versions of metadata but roots that stay: whoever is in the middle of a download still finds what it began with. */
const VERSIONS_KEPT = 3;

/** The metadata of the ReleaseRows port. */
export function releaseMetadataRows(
  pool: Pool,
): Pick<ReleaseRows, 'metadata' | 'published' | 'leftMs' | 'publish' | 'target'> {
  return {
    metadata: async (role, version) =>
      (
        await rowsOf<{ content: string }>(
          pool,
          'reading metadata',
          sql`select content from release_metadata where role = ${role}::text and (${version}::int is null or version = ${version}::int) order by version desc limit 1`,
        )
      )[0]?.content ?? null,
    published: () => published(pool),
    leftMs: async () =>
      (
        await rowsOf<{ left: number | null }>(
          pool,
          'looking until when releases hold',
          sql`select (extract(epoch from min(expires_at) - now()) * 1000)::float8 as left from (select distinct on (role) expires_at from release_metadata order by role, version desc) latest`,
        )
      )[0]?.left ?? null,
    publish: (texts, judge) => publish(pool, texts, judge),
    target: async (path) =>
      (
        await rowsOf<{ sha256: string; bytes: number }>(
          pool,
          'finding a target',
          sql`select t.sha256, t.bytes from release_target t join release_file f on f.sha256 = t.sha256 where t.path = ${path}::text and f.is_complete`,
        )
      )[0] ?? null,
  };
}

async function published(pool: Pool): Promise<PublishedState | null> {
  const trusted = await trustedIn(pool);
  if (trusted === null) return null;
  const targets = await rowsOf<StoredTarget>(
    pool,
    'listing targets',
    sql`select t.path, t.sha256, t.bytes, coalesce(f.is_complete, false) as "isHere" from release_target t left join release_file f on f.sha256 = t.sha256 order by t.path`,
  );
  const [sum] = await rowsOf<{ bytes: string }>(
    pool,
    'counting files',
    sql`select coalesce(sum(bytes), 0)::text as bytes from release_file`,
  );
  return { trusted, targets, storedBytes: Number(sum?.bytes ?? 0) };
}

async function trustedIn(client: Pool | PoolClient): Promise<Trusted | null> {
  const rows = await rowsOf<{ role: keyof Trusted; content: string }>(
    client,
    'reading what is trusted',
    sql`select distinct on (role) role, content from release_metadata order by role, version desc`,
  );
  const found = Object.fromEntries(rows.map(({ role, content }) => [role, content])) as Partial<Trusted>;
  const { root, timestamp, snapshot, targets } = found;
  return root === undefined || timestamp === undefined || snapshot === undefined || targets === undefined
    ? null
    : { root, timestamp, snapshot, targets };
}

function publish(
  pool: Pool,
  texts: MetadataTexts,
  judge: (trusted: Trusted | null, nowMs: number) => Believed,
): Promise<{ readonly believed: Believed; readonly missing: readonly string[] }> {
  return inTransaction(pool, 'publishing metadata', async (client) => {
    await client.query('lock table release_metadata in share row exclusive mode');
    const [time] = await rowsOf<{ now: Date }>(client, 'asking for the time', sql`select now() as now`);
    const believed = judge(await trustedIn(client), time?.now.getTime() ?? 0);
    const hashes = believed.targets.map(({ sha256 }) => sha256);
    // Locked, so that no sweep takes a file away that is just being named.
    const here = await rowsOf<{ sha256: string; bytes: number }>(
      client,
      'finding files',
      sql`select sha256, bytes from release_file where is_complete and sha256 = any(${hashes}::text[]) for share`,
    );
    const bytesOf = new Map(here.map(({ sha256, bytes }) => [sha256, bytes]));
    const missing = believed.targets.filter(({ sha256, bytes }) => bytesOf.get(sha256) !== bytes);
    if (missing.length === 0) await store(client, texts, believed);
    return { believed, missing: missing.map(({ path }) => path) };
  });
}

async function store(client: PoolClient, texts: MetadataTexts, { versions, targets }: Believed): Promise<void> {
  const rows = [
    ...texts.roots.map((content) => ({ role: 'root', content })),
    ...(['timestamp', 'snapshot', 'targets'] as const).map((role) => ({ role, content: texts[role] })),
  ].map(({ role, content }) => ({ role, content, ...signedIn(content) }));
  await rowsOf(
    client,
    'storing metadata',
    sql`insert into release_metadata (role, version, content, expires_at, inserted_at)
      select role, version, content, expires_at, now() from unnest(
        ${rows.map(({ role }) => role)}::text[], ${rows.map(({ version }) => version)}::int[], ${rows.map(({ content }) => content)}::text[],
        ${rows.map(({ expires }) => expires)}::timestamptz[]) as m (role, version, content, expires_at)
      on conflict (role, version) do nothing`,
  );
  const { timestamp, snapshot, targets: targetsVersion } = versions;
  await rowsOf(
    client,
    'forgetting older metadata',
    sql`delete from release_metadata where role <> 'root' and version <= case role
      when 'timestamp' then ${timestamp}::int when 'snapshot' then ${snapshot}::int else ${targetsVersion}::int end - ${VERSIONS_KEPT}::int`,
  );
  // From now on they have a day until they are swept, if nothing names them any more.
  await client.query('update release_file set updated_at = now() where sha256 in (select sha256 from release_target)');
  await client.query('delete from release_target');
  await rowsOf(
    client,
    'storing targets',
    sql`insert into release_target (path, sha256, bytes)
      select * from unnest(${targets.map(({ path }) => path)}::text[], ${targets.map(({ sha256 }) => sha256)}::text[], ${targets.map(({ bytes }) => bytes)}::int[])`,
  );
}

function signedIn(text: string): { readonly version: number; readonly expires: string } {
  const { signed } = JSON.parse(text) as {
    readonly signed: { readonly version: number; readonly expires: string };
  };
  return { version: signed.version, expires: signed.expires };
}
