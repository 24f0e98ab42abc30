/** The matrix of paths between the members of a cluster. It is asked for by a button: each machine is asked then. */
import { useSignal } from '@preact/signals';
import type { ClusterPathsResource } from '../../actors/resources/cluster-paths.ts';
import { messageOf } from '../failure.ts';
import { nowMs } from '../clock.ts';
import { matrixOf, type PathCell, type PathMatrix } from '../lists/paths.ts';
import type { Live } from '../live.ts';
import { Ago } from '../parts/ago.tsx';
import { toRow } from '../parts/row-keys.ts';
import { State } from '../parts/state.tsx';
import { agoOf } from '../relative-time.ts';
import { TEXTS } from '../texts.ts';
import { CLUSTERS } from '../texts/clusters.ts';

const T = CLUSTERS.paths;

type Asked =
  | { readonly kind: 'not' | 'asking' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'known'; readonly answer: ClusterPathsResource; readonly at: string };

/** It, of this cluster. */
export function ClusterPaths({ live, name }: { readonly live: Live; readonly name: string }) {
  const asked = useSignal<Asked>({ kind: 'not' });
  const look = async (): Promise<void> => {
    if (asked.value.kind === 'asking') return;
    asked.value = { kind: 'asking' };
    try {
      const answer = await live.api.get_cluster_paths.query({ name });
      asked.value = { kind: 'known', answer, at: new Date().toISOString() };
    } catch (error) {
      asked.value = { kind: 'failed', why: messageOf(error) };
    }
  };
  const now = asked.value;
  return (
    <section aria-labelledby="paths">
      <h2 id="paths">{T.title}</h2>
      <p class="lead">{T.lead}</p>
      <p>
        <button type="button" aria-disabled={now.kind === 'asking'} onClick={() => void look()}>
          {now.kind === 'known' ? T.again : T.look}
        </button>{' '}
        {now.kind === 'known' && (
          <span class="soft">
            {T.asked} <Ago at={now.at} /> {T.ago}
          </span>
        )}
      </p>
      {now.kind === 'asking' && <State kind="loading" text={T.asking} />}
      {now.kind === 'failed' && <State kind="failed" text={`${TEXTS.states.failed} ${now.why}`} />}
      {now.kind === 'known' && <Known answer={now.answer} />}
    </section>
  );
}

function Known({ answer }: { readonly answer: ClusterPathsResource }) {
  const matrix = matrixOf(answer);
  if (answer.members.every(({ paths }) => paths.length === 0)) return <State text={T.none} />;
  return (
    <>
      {!matrix.isWhole && <p class="soft">{T.tooMany(answer.members.length, answer.member_count)}</p>}
      {matrix.silent > 0 && <p class="soft">{T.silent(matrix.silent)}</p>}
      <div class="scroll" role="region" aria-label={T.table} tabIndex={0} onKeyDown={toRow}>
        {matrix.isWhole ? <Pairs matrix={matrix} /> : <Counts matrix={matrix} />}
      </div>
      <ul class="legend">
        {(['direct', 'relayed', 'none', 'unknown'] as const).map((kind) => (
          <li key={kind}>
            <span class={`path ${kind}`} /> {T.words[kind]}
          </li>
        ))}
      </ul>
    </>
  );
}

function Pairs({ matrix: { rows } }: { readonly matrix: PathMatrix }) {
  return (
    <table class="matrix">
      <thead>
        <tr>
          <th scope="col">{T.from}</th>
          {rows.map(({ member }) => (
            <th key={member.node_id} scope="col" title={member.name}>
              <span>
                <bdi>{member.name}</bdi>
              </span>
            </th>
          ))}
          <th scope="col">
            <span>{T.gateway}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ member, cells, gateway }) => (
          <tr key={member.node_id}>
            <th scope="row" title={member.problem ?? member.name}>
              <bdi>{member.name}</bdi>
            </th>
            {cells.map((cell, column) => (
              <Cell key={rows[column]?.member.node_id} cell={cell} to={rows[column]?.member.name ?? ''} />
            ))}
            <Cell cell={gateway} to={T.gateway} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A shape, a colour, and for whoever points at it or hears it words. */
function Cell({ cell, to }: { readonly cell: PathCell; readonly to: string }) {
  const kind = cell.kind === 'known' ? cell.path.path : cell.kind;
  const words = wordsOf(cell);
  return (
    <td title={`${to}: ${words}`}>
      <span class={`path ${kind}`} />
      <span class="unseen">{words}</span>
    </td>
  );
}

function wordsOf(cell: PathCell): string {
  if (cell.kind !== 'known') return T.words[cell.kind];
  const { path, handshake_age_seconds: age } = cell.path;
  const handshake =
    age === null ? T.never : T.age(agoOf(new Date(nowMs.peek() - age * 1_000).toISOString(), nowMs.peek()));
  return `${T.words[path]}, ${handshake}`;
}

function Counts({ matrix: { rows } }: { readonly matrix: PathMatrix }) {
  const kinds = ['direct', 'relayed', 'none'] as const;
  return (
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">{T.from}</th>
          {kinds.map((kind) => (
            <th key={kind} scope="col" class="number">
              {T.words[kind]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ member }) => (
          <tr key={member.node_id}>
            <th scope="row" title={member.problem ?? undefined}>
              <bdi>{member.name}</bdi>
            </th>
            {kinds.map((kind) => (
              <td key={kind} class="number">
                {member.problem === null ? member.counts[kind] : '–'}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
