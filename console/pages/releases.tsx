/** The releases of the agent that this service holds, and which channels point to them. */
import type { ReleasesResource } from '../../actors/resources/release.ts';
import type { Live } from '../live.ts';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { toRow } from '../parts/row-keys.ts';
import { State } from '../parts/state.tsx';
import { usePolled } from '../poll.ts';
import { exactly } from '../relative-time.ts';
import { UPDATES } from '../texts/updates.ts';

const T = UPDATES.releases;

/** They, below the updates. */
export function Releases({ live }: { readonly live: Live }) {
  const polled = usePolled(() => live.api.get_releases.query({}));
  const { data, failure } = polled.value;
  return (
    <section aria-labelledby="releases">
      <h2 id="releases">{T.title}</h2>
      {(data === null || failure !== null) && <Asked polled={polled.value} />}
      {data !== null && (data.releases.length === 0 ? <State text={T.none} /> : <Table releases={data} />)}
    </section>
  );
}

function Table({ releases: { releases, channels, expires_at: expiresAt } }: { readonly releases: ReleasesResource }) {
  const channelsOf = (version: string, arch: string): string =>
    channels
      .filter((one) => one.version === version && one.arch === arch)
      .map(({ channel }) => channel)
      .join(', ');
  return (
    <>
      {expiresAt !== null && <p class="soft">{T.expires(exactly(expiresAt))}</p>}
      <div class="scroll" role="region" aria-label={T.table} tabIndex={0} onKeyDown={toRow}>
        <table class="rows">
          <thead>
            <tr>
              {Object.entries(T.columns).map(([name, title]) => (
                <th key={name} scope="col" class={name === 'size' ? 'number' : ''}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {releases.map(({ version, arch, released_at: at, bytes, is_stored: isStored }) => (
              <tr key={`${version} ${arch}`}>
                <th scope="row">
                  <bdi>{version}</bdi>
                </th>
                <td>
                  <bdi>{channelsOf(version, arch)}</bdi>
                </td>
                <td>
                  <bdi>{arch}</bdi>
                </td>
                <td>
                  <Ago at={at} />
                </td>
                <td class="number">{T.mb(bytes)}</td>
                <td>{isStored ? T.here : T.missing}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
