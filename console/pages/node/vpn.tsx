/** How a node reaches the peers of its VPN: asked of its agent when the page is opened, and when somebody says so. */
import type { NodePathsResource, PeerPath } from '../../../actors/resources/cluster-paths.ts';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { nowMs } from '../../clock.ts';
import { peersOf } from '../../lists/paths.ts';
import type { Live } from '../../live.ts';
import { Ago } from '../../parts/ago.tsx';
import { toRow } from '../../parts/row-keys.ts';
import { State } from '../../parts/state.tsx';
import { NODE } from '../../texts/node.ts';
import { TEXTS } from '../../texts.ts';
import { pageLink } from './links.ts';
import { AskedSection } from './asked-section.tsx';
import { useOnce } from './once.ts';

const T = NODE.vpn;

/** Asked anew where the status or the cluster changed. */
export function VpnPeers({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const asked = useOnce(
    async () => ({ answer: await live.api.get_node_paths.query({ id: node.id }), atMs: nowMs.peek() }),
    `${node.status} ${node.cluster_name}`,
  ).value;
  return (
    <AskedSection id="vpn-peers" words={T} asked={asked}>
      {({ answer, atMs }) => <Known answer={answer} atMs={atMs} />}
    </AskedSection>
  );
}

function Known({ answer, atMs }: { readonly answer: NodePathsResource; readonly atMs: number }) {
  if (answer.problem !== null) return <State text={answer.problem} />;
  if (answer.paths.length === 0) return <p class="soft">{T.none}</p>;
  const { seen, more, counts } = peersOf(answer);
  return (
    <>
      <p class="soft">
        {T.counts(counts.direct, counts.relayed, counts.none)} {T.asked} <Ago at={new Date(atMs).toISOString()} />{' '}
        {T.ago}.
      </p>
      <Peers peers={seen} atMs={atMs} label={T.seen} />
      {more.length > 0 && (
        <details class="passed">
          <summary>{T.more(more.length)}</summary>
          <Peers peers={more} atMs={atMs} label={T.more(more.length)} />
        </details>
      )}
    </>
  );
}

function Peers({
  peers,
  atMs,
  label,
}: {
  readonly peers: readonly PeerPath[];
  readonly atMs: number;
  readonly label: string;
}) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0} onKeyDown={toRow}>
      <table>
        <thead>
          <tr>
            {Object.entries(T.columns).map(([column, title]) => (
              <th key={column} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {peers.map((peer) => (
            <Peer key={peer.node_id} peer={peer} atMs={atMs} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The handshake was so long before the agent was asked. */
function Peer({
  peer: { node_id: id, name, status, path, handshake_age_seconds: age },
  atMs,
}: {
  readonly peer: PeerPath;
  readonly atMs: number;
}) {
  const link = id === null ? null : pageLink('node', id);
  return (
    <tr>
      <th scope="row">
        {link === null ? (
          T.gateway
        ) : (
          <a href={link}>
            <bdi>{name}</bdi>
          </a>
        )}
        {status !== null && status !== 'healthy' && <span class="soft"> {TEXTS.statuses[status].toLowerCase()}</span>}
      </th>
      <td>
        <span class={`path ${path}`} /> {T.path[path]}
      </td>
      <td>
        {age === null ? (
          T.noHandshake
        ) : (
          <>
            <Ago at={new Date(atMs - age * 1_000).toISOString()} /> {T.ago}
          </>
        )}
      </td>
    </tr>
  );
}
