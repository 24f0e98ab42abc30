/** The waves of a self-update request: how far each is, and who has their turn next. */
import type { Pool } from 'pg';
import {
  WAVES_SHOWN_MAX,
  type SelfUpdateNext,
  type SelfUpdateRequestResource,
  type SelfUpdateWave,
} from '../../actors/resources/self-update.ts';
import { ANSWER_MS_MAX } from '../../actors/self-update/limits.ts';
import { UNDER_WAY } from '../loader/self-updates.ts';
import { rowsOf, sql } from './sql.ts';

/** Waves that are over and are shown before the first one that is not. */
const WAVES_OVER_SHOWN = 20;

/** Without batches nobody judges nodes: one is under way until something is heard of it. */
const IS_UNDER_WAY = sql`case when r.batch_size is null then u.state = 'due' or u.state = 'triggered' and u.finished_at is null else ${UNDER_WAY} end`;

/** When a node that is under way is judged at the latest. */
const JUDGED_BY = sql`case when u.state = 'due' then u.due_at + ${ANSWER_MS_MAX}::int * interval '1 ms' else u.triggered_at + r.health_timeout_ms * interval '1 ms' end`;

/** What single reads tell of them. */
export type WavesOfRequest = Required<Pick<SelfUpdateRequestResource, 'wave_count' | 'waves' | 'next'>>;

interface WaveRow extends Omit<SelfUpdateWave, 'began_at'> {
  readonly began_at: Date | null;
  /** Of the whole request, as what follows. */
  readonly wave_count: number;
  readonly all_under_way: number;
  readonly judged_by: Date | null;
  readonly is_batched: boolean;
}

/** Those around the first that is not over, at most WAVES_SHOWN_MAX; none of a request that a release before made. */
export async function wavesOf(pool: Pool, request: string): Promise<WavesOfRequest> {
  const rows = await rowsOf<WaveRow>(
    pool,
    'counting waves of a self-update request',
    sql`
    with nodes as (select u.wave, u.state, u.due_at, r.batch_size is not null as is_batched, ${IS_UNDER_WAY} as is_under_way, ${JUDGED_BY} as judged_by
      from self_update_node u join self_update_request r on r.id = u.request_id where u.request_id = ${request}::uuid and u.wave is not null),
    waves as (select wave, is_batched, (count(*) filter (where state = 'waiting'))::int as waiting,
      (count(*) filter (where is_under_way))::int as under_way, (count(*) filter (where state in ('triggered', 'updated') and not is_under_way))::int as done,
      (count(*) filter (where state in ('failed', 'rolled_back')))::int as failed, (count(*) filter (where state = 'skipped'))::int as skipped,
      min(due_at) as began_at, min(judged_by) filter (where is_under_way) as first_judged_by from nodes group by wave, is_batched),
    told as (select *, (count(*) over ())::int as wave_count, (sum(under_way) over ())::int as all_under_way, min(first_judged_by) over () as judged_by,
      coalesce(min(wave) filter (where waiting + under_way > 0) over (), max(wave) over ()) as first_open from waves)
    select wave, waiting, under_way, done, failed, skipped, began_at, wave_count, all_under_way, judged_by, is_batched
    from told where wave >= first_open - ${WAVES_OVER_SHOWN}::int order by wave limit ${WAVES_SHOWN_MAX}::int`,
  );
  return {
    wave_count: rows[0]?.wave_count ?? 0,
    waves: rows.map(waveOf),
    next: nextOf(rows.find(({ waiting }) => waiting > 0)),
  };
}

function waveOf({ wave, waiting, under_way, done, failed, skipped, began_at: at }: WaveRow): SelfUpdateWave {
  return { wave, waiting, under_way, done, failed, skipped, began_at: at?.toISOString() ?? null };
}

/** Where all have their turn at once nobody waits for another one. */
function nextOf(row: WaveRow | undefined): SelfUpdateNext | null {
  if (row === undefined) return null;
  const { wave, waiting, all_under_way: underWay, judged_by: by, is_batched: isBatched } = row;
  return {
    wave,
    waiting,
    under_way: isBatched ? underWay : 0,
    judged_by: isBatched ? (by?.toISOString() ?? null) : null,
  };
}
